package main

import (
	"slices"

	"github.com/go-halyard/halyard/hal/driver"
)

func (d *device) Formats() []driver.Format {
	l, ok := d.Device.(driver.Loader)
	if !ok {
		return nil
	}
	f, p := l.Formats(), point{"Loader.Formats", ""}
	switch {
	case d.b.is(nothing, p):
		return nil
	case d.b.is(wide, p):
		return append(f, driver.FormatCodeObject)
	}
	return f
}

func (d *device) Load(image *driver.Image) (driver.Module, error) {
	return made(d.b, point{"Loader.Load", ""}, func() (driver.Module, error) {
		m, err := d.Device.(driver.Loader).Load(image)
		if err != nil {
			return nil, err
		}
		return &module{m, d}, nil
	}, func(m driver.Module) { _ = m.Close() })
}

func (d *device) CompilerID(target string) (string, error) {
	return d.Device.(driver.Compiler).CompilerID(target)
}

func (d *device) Compile(target string, src *driver.Source) (*driver.Image, error) {
	return d.Device.(driver.Compiler).Compile(target, src)
}

func (d *device) Handles() driver.Handles {
	if n, ok := d.Device.(driver.Native); ok {
		return n.Handles()
	}
	return driver.Handles{}
}

// module is code that is loaded on a device of the layer.
type module struct {
	driver.Module
	d *device
}

func (m *module) Kernel(name string) (driver.Kernel, error) {
	return made(m.d.b, point{"Module.Kernel", ""}, func() (driver.Kernel, error) {
		k, err := m.Module.Kernel(name)
		if err != nil {
			return nil, err
		}
		return &function{k, m.d.b}, nil
	}, func(driver.Kernel) {})
}

func (m *module) Names() []string {
	names, p := m.Module.Names(), point{"Module.Names", ""}
	switch {
	case m.d.b.is(short, p) && len(names) > 0:
		return names[:len(names)-1]
	case m.d.b.is(wide, p):
		return append(names, "none")
	}
	return names
}

func (m *module) FreeMayBlock() bool { return m.d.b.mayBlock(m.Module) }

func (m *module) Close() error { return m.d.b.release(point{"Module.Close", ""}, m.Module.Close) }

// function is a kernel.
type function struct {
	driver.Kernel
	b *backend
}

func (k *function) Info() *driver.KernelInfo {
	i, p := k.Kernel.Info(), point{"Kernel.Info", ""}
	switch {
	case k.b.is(nothing, p):
		return &driver.KernelInfo{}
	case k.b.is(short, p) && len(i.Params) > 0:
		less := *i
		less.Params = i.Params[:len(i.Params)-1]
		return &less
	}
	return i
}

// lower returns a launch on the memories below, which are mems.
func (b *backend) lower(p point, l *driver.Launch) (lower driver.Launch, mems []driver.Memory) {
	lower = *l
	lower.Args = slices.Clone(l.Args)
	for i := range lower.Args {
		if a := &lower.Args[i]; a.Kind == driver.ParamPointer && a.Region.Mem != nil {
			mems = append(mems, a.Region.Mem)
			b.low(p.method, "region.Off", &a.Region.Off)
			a.Region = below(a.Region)
		}
	}
	return lower, mems
}

const manyBlocks = 1<<16 - 1

func (s *stream) Launch(k driver.Kernel, l *driver.Launch) error {
	p := point{"Launcher.Launch", ""}
	if l.Grid[0] > manyBlocks {
		p.class = "grids of many blocks"
	}
	lower, mems := s.b.lower(p, l)
	if s.b.is(short, p) {
		if s.b.fault.class != "" {
			lower.Grid[0] = manyBlocks
		} else if lower.Grid[0]--; lower.Grid[0] == 0 {
			return nil
		}
	}
	below := k.(*function).Kernel
	times := 1
	if s.b.is(twice, p) {
		times = 2
	}
	return s.work(point{p.method, p.class}, func(on driver.Stream) error {
		for range times {
			if err := on.(driver.Launcher).Launch(below, &lower); err != nil {
				return err
			}
		}
		return nil
	}, mems...)
}

// repeater is a stream that prepares launches.
type repeater struct {
	*stream
	below driver.Repeater
}

func (r *repeater) Prepare(kernels []driver.Kernel, launches []driver.Launch) (driver.Sequence, error) {
	b, p := r.b, point{"Repeater.Prepare", ""}
	var under []driver.Kernel
	var lower []driver.Launch
	var all []driver.Memory
	for i := range launches {
		l, mems := b.lower(p, &launches[i])
		under, lower, all = append(under, kernels[i].(*function).Kernel), append(lower, l), append(all, mems...)
	}
	n := len(lower)
	if b.is(short, p) && n > 1 {
		under, lower = under[:n-1], lower[:n-1]
	}
	return made(b, p, func() (driver.Sequence, error) {
		q, err := r.below.Prepare(under, lower)
		if err != nil {
			return nil, err
		}
		return &sequence{q, r.stream, n, all}, nil
	}, func(q driver.Sequence) { _ = q.Close() })
}

// list prepares launches on the host, where the backend does not: it keeps them in a list.
type list struct{ on driver.Stream }

func (l list) Prepare(kernels []driver.Kernel, launches []driver.Launch) (driver.Sequence, error) {
	return &listed{l.on, kernels, launches}, nil
}

type listed struct {
	on       driver.Stream
	kernels  []driver.Kernel
	launches []driver.Launch
}

func (l *listed) Enqueue() (int, error) {
	for i := range l.launches {
		if err := l.on.(driver.Launcher).Launch(l.kernels[i], &l.launches[i]); err != nil {
			return i, err
		}
	}
	return len(l.launches), nil
}

func (l *listed) Close() error { return nil }

// sequence is launches that were prepared.
type sequence struct {
	driver.Sequence
	s    *stream
	n    int
	mems []driver.Memory
}

func (q *sequence) Enqueue() (n int, err error) {
	p := point{"Sequence.Enqueue", ""}
	err = q.s.work(p, func(driver.Stream) error {
		if _, err := q.Sequence.Enqueue(); err != nil {
			return err
		}
		if q.s.b.is(twice, p) {
			_, err := q.Sequence.Enqueue()
			return err
		}
		return nil
	}, q.mems...)
	if err != nil {
		return 0, err
	}
	return q.n, nil
}

func (q *sequence) Close() error { return q.s.b.release(point{"Sequence.Close", ""}, q.Sequence.Close) }
