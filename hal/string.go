package hal

import "github.com/go-halyard/halyard/hal/internal/life"

// The String methods say what a value is, for fmt.Println and logs. They may be called at any time.

// String returns the device's name and model: "host:0 (AMD EPYC)".
func (d *Device) String() string {
	s := d.state()
	if s == nil {
		return "no device"
	}
	return s.Info.Name() + " (" + s.Info.Model + ")"
}

// String says which device the stream belongs to.
func (s *Stream) String() string {
	if st := s.state(); st != nil {
		return st.dev.on(st)
	}
	return "no stream"
}

// String says the kind and size of the memory, and which device it belongs to.
func (m *Memory) String() string {
	if s := m.state(); s != nil {
		return s.dev.on(s)
	}
	return "no memory"
}

// String says which device the event belongs to.
func (e *Event) String() string {
	if e == nil || e.s == nil {
		return "no event"
	}
	return e.s.dev.on(e.s)
}

// String says which device the gate holds.
func (g *Gate) String() string {
	if g == nil || g.s == nil {
		return "no gate"
	}
	return "gate on " + g.s.stream.dev.Info.Name()
}

// String says which device the module is loaded on.
func (m *Module) String() string {
	if s := m.state(); s != nil {
		return s.dev.on(s)
	}
	return "no module"
}

// String returns the kernel's name, and the device that it is loaded on.
func (k *Kernel) String() string {
	if k == nil || k.s == nil {
		return "no kernel"
	}
	return "kernel " + k.s.info.Name + " on " + k.s.of.dev.Info.Name()
}

func (s *deviceState) on(x life.Thing) string { return x.Describe() + " on " + s.Info.Name() }
