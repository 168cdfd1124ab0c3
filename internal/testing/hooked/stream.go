package hooked

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Stream is a stream of the layer.
type Stream struct {
	driver.Stream
	Device *Device
	Data   any // for the hooks' own use
}

// moves asks the hooks Call and Drop about a copy, fill or launch: whether it is to be left out, and the error that the call then returns.
func (s *Stream) moves(op string) (drop bool, err error) {
	if err := s.Device.ask(op); err != nil {
		return true, err
	}
	f := s.Device.Layer.Drop
	return f != nil && f(s, op), nil
}

// Copy implements driver.Stream.
func (s *Stream) Copy(dst, src driver.Region) error {
	if drop, err := s.moves("Copy"); drop {
		return err
	}
	if f := s.Device.Layer.Copy; f != nil {
		peer := dst.Mem.(*Memory).Device != s.Device || src.Mem.(*Memory).Device != s.Device
		return f(s, below(dst), below(src), peer)
	}
	return s.Stream.Copy(below(dst), below(src))
}

// CopyIn implements driver.Stream.
func (s *Stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	if drop, err := s.moves("CopyIn"); drop {
		return err
	}
	if f := s.Device.Layer.CopyIn; f != nil {
		return f(s, below(dst), src)
	}
	return s.Stream.CopyIn(below(dst), src)
}

// CopyOut implements driver.Stream.
func (s *Stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	if drop, err := s.moves("CopyOut"); drop {
		return err
	}
	if f := s.Device.Layer.CopyOut; f != nil {
		return f(s, dst, below(src))
	}
	return s.Stream.CopyOut(dst, below(src))
}

// Copy2D implements driver.Copier2D. If there is a hook for copies, each row is a copy of its own.
func (s *Stream) Copy2D(r driver.Rect) error {
	l := s.Device.Layer
	c, ok := s.Stream.(driver.Copier2D)
	if !ok || l.Copy != nil || l.CopyIn != nil || l.CopyOut != nil || l.Drop != nil {
		return s.rows(r)
	}
	if err := s.Device.ask("Copy2D"); err != nil {
		return err
	}
	for _, p := range []*driver.Pitched{&r.Dst, &r.Src} {
		if p.Mem != nil {
			m := p.Mem.(*Memory)
			p.Mem, p.Off = m.Memory, m.Off+p.Off
		}
	}
	return c.Copy2D(r)
}

func (s *Stream) rows(r driver.Rect) error {
	for row := range r.Rows {
		dst := driver.Region{Mem: r.Dst.Mem, Off: r.Dst.Off + row*r.Dst.Pitch, Len: r.Width}
		src := driver.Region{Mem: r.Src.Mem, Off: r.Src.Off + row*r.Src.Pitch, Len: r.Width}
		var err error
		switch {
		case r.Dst.Mem == nil:
			err = s.CopyOut(unsafe.Add(r.Dst.Host, row*r.Dst.Pitch), src)
		case r.Src.Mem == nil:
			err = s.CopyIn(dst, unsafe.Add(r.Src.Host, row*r.Src.Pitch))
		default:
			err = s.Copy(dst, src)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Fill implements driver.Stream.
func (s *Stream) Fill(dst driver.Region, p driver.Pattern) error {
	if drop, err := s.moves("Fill"); drop {
		return err
	}
	if f := s.Device.Layer.Fill; f != nil {
		return f(s, below(dst), p)
	}
	return s.Stream.Fill(below(dst), p)
}

// Record implements driver.Stream.
func (s *Stream) Record(e driver.Event) error {
	if err := s.Device.ask("Record"); err != nil {
		return err
	}
	if f := s.Device.Layer.Record; f != nil {
		return f(s, e.(*Event))
	}
	return s.Stream.Record(e.(*Event).Event)
}

// Wait implements driver.Stream.
func (s *Stream) Wait(e driver.Event) error {
	if err := s.Device.ask("Wait"); err != nil {
		return err
	}
	if f := s.Device.Layer.Wait; f != nil {
		return f(s, e.(*Event))
	}
	return s.Stream.Wait(e.(*Event).Event)
}

// Query implements driver.Stream.
func (s *Stream) Query() (bool, error) {
	if err := s.Device.ask("Query"); err != nil {
		return false, err
	}
	if f := s.Device.Layer.Query; f != nil {
		return f(s)
	}
	return s.Stream.Query()
}

// Sync implements driver.Stream.
func (s *Stream) Sync() error {
	if err := s.Device.ask("Sync"); err != nil {
		return err
	}
	if f := s.Device.Layer.Sync; f != nil {
		return f(s)
	}
	return s.Stream.Sync()
}

// PlainGate enqueues a gate.
func (s *Stream) PlainGate() (driver.Gate, error) {
	g, ok := s.Stream.(driver.Gater)
	if !ok {
		return nil, s.Device.lacks("Gate")
	}
	return g.Gate()
}

// Gate implements driver.Gater.
func (s *Stream) Gate() (driver.Gate, error) {
	if err := s.Device.ask("Gate"); err != nil {
		return nil, err
	}
	if f := s.Device.Layer.Gate; f != nil {
		return f(s)
	}
	return s.PlainGate()
}

// PlainOnDone runs fn after the work enqueued so far.
func (s *Stream) PlainOnDone(fn func()) error {
	n, ok := s.Stream.(driver.Notifier)
	if !ok {
		return s.Device.lacks("OnDone")
	}
	return n.OnDone(fn)
}

// OnDone implements driver.Notifier.
func (s *Stream) OnDone(fn func()) error {
	if err := s.Device.ask("OnDone"); err != nil {
		return err
	}
	if f := s.Device.Layer.OnDone; f != nil {
		return f(s, fn)
	}
	return s.PlainOnDone(fn)
}

// Prefetch implements driver.Prefetcher.
func (s *Stream) Prefetch(r driver.Region, toHost bool) error {
	if err := s.Device.ask("Prefetch"); err != nil {
		return err
	}
	if f := s.Device.Layer.Prefetch; f != nil {
		return f(s, below(r), toHost)
	}
	p, ok := s.Stream.(driver.Prefetcher)
	if !ok {
		return s.Device.lacks("Prefetch")
	}
	return p.Prefetch(below(r), toHost)
}

// PlainAllocAsync allocates memory in stream order.
func (s *Stream) PlainAllocAsync(size, align uint64) (*Memory, error) {
	a, ok := s.Stream.(driver.StreamAllocator)
	if !ok {
		return nil, s.Device.lacks("AllocAsync")
	}
	m, err := a.AllocAsync(size, align)
	return s.Device.wrap(m, driver.KindDevice, size, err)
}

// AllocAsync implements driver.StreamAllocator.
func (s *Stream) AllocAsync(size, align uint64) (driver.Memory, error) {
	if err := s.Device.ask("AllocAsync"); err != nil {
		return nil, err
	}
	if f := s.Device.Layer.AllocAsync; f != nil {
		return made[driver.Memory](f(s, size, align))
	}
	return made[driver.Memory](s.PlainAllocAsync(size, align))
}

// Close implements driver.Stream.
func (s *Stream) Close() error {
	return s.Device.release("Close stream", func() error {
		if f := s.Device.Layer.CloseStream; f != nil {
			return f(s)
		}
		return s.Stream.Close()
	})
}
