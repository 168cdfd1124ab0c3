package hooked

import (
	"slices"

	"github.com/go-halyard/halyard/hal/driver"
)

// Module is code that is loaded on a device of the layer.
type Module struct {
	driver.Module
	Device *Device
}

// Formats implements driver.Loader.
func (d *Device) Formats() []driver.Format {
	if l, ok := d.Device.(driver.Loader); ok {
		return l.Formats()
	}
	return nil
}

// Load implements driver.Loader.
func (d *Device) Load(image *driver.Image) (driver.Module, error) {
	if err := d.ask("Load"); err != nil {
		return nil, err
	}
	l, ok := d.Device.(driver.Loader)
	if !ok {
		return nil, d.lacks("Load")
	}
	m, err := l.Load(image)
	if err != nil {
		return nil, err
	}
	return &Module{m, d}, nil
}

// Kernel implements driver.Module.
func (m *Module) Kernel(name string) (driver.Kernel, error) {
	if err := m.Device.ask("Kernel"); err != nil {
		return nil, err
	}
	if f := m.Device.Layer.Kernel; f != nil {
		return f(m, name)
	}
	return m.Module.Kernel(name)
}

// Close implements driver.Module.
func (m *Module) Close() error {
	return m.Device.release("Close module", func() error {
		if f := m.Device.Layer.CloseModule; f != nil {
			return f(m)
		}
		return m.Module.Close()
	})
}

// FreeMayBlock implements driver.FreeBlocker.
func (m *Module) FreeMayBlock() bool {
	b, ok := m.Module.(driver.FreeBlocker)
	return ok && b.FreeMayBlock()
}

// CompilerID implements driver.Compiler.
func (d *Device) CompilerID(target string) (string, error) {
	c, ok := d.Device.(driver.Compiler)
	if !ok {
		return "", d.lacks("CompilerID")
	}
	return c.CompilerID(target)
}

// Compile implements driver.Compiler.
func (d *Device) Compile(target string, src *driver.Source) (*driver.Image, error) {
	if err := d.ask("Compile"); err != nil {
		return nil, err
	}
	c, ok := d.Device.(driver.Compiler)
	if !ok {
		return nil, d.lacks("Compile")
	}
	return c.Compile(target, src)
}

// Handles implements driver.Native.
func (d *Device) Handles() driver.Handles {
	if n, ok := d.Device.(driver.Native); ok {
		return n.Handles()
	}
	return driver.Handles{}
}

// PlainLaunch launches a kernel. The regions of l are those of the backend below.
func (s *Stream) PlainLaunch(k driver.Kernel, l *driver.Launch) error {
	n, ok := s.Stream.(driver.Launcher)
	if !ok {
		return s.Device.lacks("Launch")
	}
	return n.Launch(k, l)
}

// Launch implements driver.Launcher.
func (s *Stream) Launch(k driver.Kernel, l *driver.Launch) error {
	if drop, err := s.moves("Launch"); drop {
		return err
	}
	lower := *l
	lower.Args = slices.Clone(l.Args)
	for i := range lower.Args {
		if a := &lower.Args[i]; a.Kind == driver.ParamPointer {
			a.Region = below(a.Region)
		}
	}
	if f := s.Device.Layer.Launch; f != nil {
		return f(s, k, &lower)
	}
	return s.PlainLaunch(k, &lower)
}
