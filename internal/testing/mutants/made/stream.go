package main

import (
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// stream is a stream of the layer.
type stream struct {
	driver.Stream
	d *device
	b *backend

	// What a mutant does too late. Like the work of any stream it is enqueued by one goroutine at a time, or the program cares for no order.
	late  atomic.Pointer[[]postponed] // before the next work, but after a record
	again atomic.Pointer[[]postponed] // after the next work

	answered atomic.Bool // by the last Query
	failure  atomic.Pointer[failure]
}

// postponed is work that a mutant has not enqueued yet, on memories.
type postponed struct {
	run  func()
	mems []*memory
}

// failure is that of work under way.
type failure struct {
	err  error
	told atomic.Bool
}

func (f *failure) tell() error {
	if f == nil {
		return nil
	}
	f.told.Store(true)
	return f.err
}

func enqueuePostponed(list *atomic.Pointer[[]postponed]) {
	old := list.Swap(nil)
	if old == nil {
		return
	}
next:
	for _, p := range *old {
		for _, m := range p.mems {
			if m.freed.Load() {
				continue next
			}
		}
		p.run()
	}
}

func postpone(list *atomic.Pointer[[]postponed], run func(), mems []*memory) {
	var all []postponed
	if old := list.Load(); old != nil {
		all = *old
	}
	all = append(all[:len(all):len(all)], postponed{run, mems})
	list.Store(&all)
}

// work enqueues work on the memories.
func (s *stream) work(p point, do func(on driver.Stream) error, mems ...driver.Memory) error {
	enqueuePostponed(&s.late)
	before := s.again.Swap(nil)
	var on []*memory
	for _, m := range mems {
		if m, ok := m.(*memory); ok {
			on = append(on, m)
		}
	}
	run := func(to driver.Stream) error {
		if err := s.b.ask(p); err != nil {
			return err
		}
		if s.b.broken.Load() {
			s.failure.Store(&failure{err: &driver.Error{Op: p.method, Backend: s.b.Backend.Name(), Device: s.d.Device.Info().Ordinal, Kind: driver.ErrDriver,
				Vendor: driver.Vendor{API: p.method, Name: "MADE_FAULT", Code: 1}}})
			return nil
		}
		return do(to)
	}
	var err error
	switch {
	case s.b.is(nothing, p):
	case s.b.is(early, p):
		side := s.d.aside()
		if err = run(side); err == nil {
			err = side.Sync()
		}
	case s.b.is(twice, p):
		err = run(s.Stream)
		postpone(&s.again, func() { _ = do(s.Stream) }, on)
	case s.b.is(late, p):
		postpone(&s.late, func() { _ = do(s.Stream) }, on)
	case s.b.is(hides, p):
		_ = run(s.Stream)
	case s.b.is(fails, p):
		if err = run(s.Stream); err == nil {
			err = s.b.err(p)
		}
	default:
		err = run(s.Stream)
	}
	if before != nil {
		var list atomic.Pointer[[]postponed]
		list.Store(before)
		enqueuePostponed(&list)
	}
	return err
}

// last takes the last byte away if that is the fault. It reports whether nothing is left.
func (s *stream) last(p point, n *uint64, unit uint64) (none bool) {
	if s.b.is(short, p) {
		*n -= min(*n, unit)
	}
	return *n == 0
}

// clip takes from a length what lies beyond the end of memory that a mutant has made too small. It reports whether nothing is left.
func clip(n *uint64, r driver.Region) (none bool) {
	size := r.Mem.(*memory).size
	*n = min(*n, size-min(size, r.Off))
	return *n == 0
}

func (s *stream) direction(dst, src driver.Region) string {
	to, from := dst.Mem.(*memory), src.Mem.(*memory)
	switch {
	case from.d.Device != s.d.Device && from.d.Device.Info().Ordinal != s.d.Device.Info().Ordinal:
		return "from a peer"
	case to.d.Device != s.d.Device && to.d.Device.Info().Ordinal != s.d.Device.Info().Ordinal:
		return "to a peer"
	case from.kind != driver.KindDevice && to.kind != driver.KindDevice:
		return "between host memories"
	case from.kind != driver.KindDevice:
		return "from host memory"
	case to.kind != driver.KindDevice:
		return "to host memory"
	}
	return "within the device"
}

func (s *stream) Copy(dst, src driver.Region) error {
	p := point{"Stream.Copy", s.direction(dst, src)}
	if s.b.apart && strings.HasSuffix(p.class, "peer") {
		return &driver.Error{Op: "copy", Backend: s.b.Backend.Name(), Device: s.b.ordinal(), Kind: driver.ErrWrongDevice}
	}
	s.b.low(p.method, "dst.Off", &dst.Off)
	s.b.low(p.method, "src.Off", &src.Off)
	s.b.low(p.method, "Len", &dst.Len)
	if s.last(p, &dst.Len, 1) || clip(&dst.Len, dst) || clip(&dst.Len, src) {
		return nil
	}
	return s.work(p, func(on driver.Stream) error {
		return s.b.pieces(dst.Len, func(off, n uint64) error {
			return on.Copy(below(driver.Region{Mem: dst.Mem, Off: dst.Off + off, Len: n}), below(driver.Region{Mem: src.Mem, Off: src.Off + off, Len: n}))
		})
	}, dst.Mem, src.Mem)
}

// hostClass is the class of a copy between a memory and bytes of the host.
func (s *stream) hostClass(m driver.Memory, ptr unsafe.Pointer, to string) string {
	switch {
	case m.(*memory).kind != driver.KindDevice:
		return to + " host memory"
	case s.b.pageLocked(uintptr(ptr)):
		return "page-locked " + to + " the device"
	}
	return "pageable " + to + " the device"
}

func (s *stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	p := point{"Stream.CopyIn", s.hostClass(dst.Mem, src, "to")}
	s.b.low(p.method, "dst.Off", &dst.Off)
	s.b.low(p.method, "Len", &dst.Len)
	if s.last(p, &dst.Len, 1) || clip(&dst.Len, dst) {
		return nil
	}
	return s.work(p, func(on driver.Stream) error {
		return s.b.pieces(dst.Len, func(off, n uint64) error {
			return on.CopyIn(below(driver.Region{Mem: dst.Mem, Off: dst.Off + off, Len: n}), unsafe.Add(src, off))
		})
	}, dst.Mem)
}

func (s *stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	p := point{"Stream.CopyOut", s.hostClass(src.Mem, dst, "from")}
	s.b.low(p.method, "src.Off", &src.Off)
	s.b.low(p.method, "Len", &src.Len)
	if s.last(p, &src.Len, 1) || clip(&src.Len, src) {
		return nil
	}
	return s.work(p, func(on driver.Stream) error {
		return s.b.pieces(src.Len, func(off, n uint64) error {
			return on.CopyOut(unsafe.Add(dst, off), below(driver.Region{Mem: src.Mem, Off: src.Off + off, Len: n}))
		})
	}, src.Mem)
}

func (s *stream) Fill(dst driver.Region, pat driver.Pattern) error {
	p := point{"Stream.Fill", kindNames[dst.Mem.(*memory).kind]}
	s.b.low(p.method, "dst.Off", &dst.Off)
	s.b.low(p.method, "Len", &dst.Len)
	s.b.low(p.method, "Bits", &pat.Bits)
	if s.last(p, &dst.Len, uint64(pat.Width)) || clip(&dst.Len, dst) {
		return nil
	}
	return s.work(p, func(on driver.Stream) error {
		return s.b.pieces(dst.Len, func(off, n uint64) error {
			return on.Fill(below(driver.Region{Mem: dst.Mem, Off: dst.Off + off, Len: n - n%uint64(pat.Width)}), pat)
		})
	}, dst.Mem)
}

func (s *stream) Copy2D(r driver.Rect) error {
	p := point{"Copier2D.Copy2D", "within the device"}
	var mems []driver.Memory
	for side, at := range map[string]*driver.Pitched{"out": &r.Dst, "in": &r.Src} {
		if at.Mem == nil {
			p.class = side
		} else {
			mems = append(mems, at.Mem)
		}
	}
	s.b.low(p.method, "dst.Off", &r.Dst.Off)
	s.b.low(p.method, "src.Off", &r.Src.Off)
	s.b.low(p.method, "dst.Pitch", &r.Dst.Pitch)
	s.b.low(p.method, "src.Pitch", &r.Src.Pitch)
	s.last(p, &r.Rows, 1)
	return s.work(p, func(on driver.Stream) error {
		lower := r
		for _, at := range []*driver.Pitched{&lower.Dst, &lower.Src} {
			if m, ok := at.Mem.(*memory); ok {
				at.Mem = m.Memory
			}
		}
		return on.(driver.Copier2D).Copy2D(lower)
	}, mems...)
}

func (s *stream) Prefetch(r driver.Region, toHost bool) error {
	return s.work(point{"Prefetcher.Prefetch", ""}, func(on driver.Stream) error { return on.(driver.Prefetcher).Prefetch(below(r), toHost) }, r.Mem)
}

func (s *stream) AllocAsync(size, align uint64) (driver.Memory, error) {
	p := point{"StreamAllocator.AllocAsync", ""}
	s.b.low(p.method, "size", &size)
	s.b.low(p.method, "align", &align)
	m, err := made(s.b, p, func() (driver.Memory, error) {
		m, err := s.Stream.(driver.StreamAllocator).AllocAsync(size, align)
		x, err := s.d.wrap(m, driver.KindDevice, size, err)
		if err == nil {
			x.(*memory).cached = s.b.caching
		}
		return x, err
	}, func(m driver.Memory) { _ = m.(*memory).Memory.Free() })
	return shorter(s.b, p, m), err
}

func (s *stream) Record(x driver.Event) error {
	e, p := x.(*event), point{"Stream.Record", ""}
	record := func(on driver.Stream) error {
		if f := s.failure.Load(); f != nil && !f.told.Load() {
			e.failure.Store(f)
		} else {
			e.failure.Store(nil)
		}
		return on.Record(e.Event)
	}
	run := func(on driver.Stream) error {
		if err := s.b.ask(p); err != nil {
			return err
		}
		return record(on)
	}
	switch {
	case s.b.is(nothing, p):
		return nil
	case s.b.is(early, p):
		return run(s.d.aside())
	case s.b.is(late, p), s.b.is(twice, p):
		err := run(s.Stream)
		postpone(&s.again, func() { _ = record(s.Stream) }, nil)
		return err
	case s.b.is(hides, p):
		_ = run(s.Stream)
		return nil
	case s.b.is(fails, p):
		if err := run(s.Stream); err != nil {
			return err
		}
		return s.b.err(p)
	}
	return run(s.Stream)
}

func (s *stream) Wait(x driver.Event) error {
	e, p := x.(*event), point{"Stream.Wait", ""}
	if e.d.Device.Info().Ordinal != s.d.Device.Info().Ordinal {
		p.class = "a peer's event"
	}
	run := func() error {
		if err := s.b.ask(p); err != nil {
			return err
		}
		return s.Stream.Wait(e.Event)
	}
	enqueuePostponed(&s.late)
	switch {
	case s.b.is(nothing, p):
		return nil
	case s.b.is(early, p):
		return e.Event.Sync()
	case s.b.is(late, p):
		postpone(&s.again, func() { _ = s.Stream.Wait(e.Event) }, nil)
		return nil
	case s.b.is(twice, p):
		if err := run(); err != nil {
			return err
		}
		return run()
	case s.b.is(hides, p):
		_ = run()
		return nil
	case s.b.is(fails, p):
		if err := run(); err != nil {
			return err
		}
		return s.b.err(p)
	}
	return run()
}

// answer is Query of a stream or an event.
func (b *backend) answer(p point, before *atomic.Bool, query func() (bool, error), tell func() error) (bool, error) {
	run := func() (done bool, err error) {
		if err := b.ask(p); err != nil {
			return false, err
		}
		if done, err = query(); done && err == nil {
			err = tell()
		}
		return done, err
	}
	switch {
	case b.is(nothing, p):
		return true, nil
	case b.is(twice, p):
		if done, err := run(); !done {
			return done, err
		}
	case b.is(late, p):
		done, err := run()
		if !done || err != nil {
			return done, err
		}
		return before.Swap(done), nil
	case b.is(hides, p):
		done, err := run()
		return done || err != nil, nil
	case b.is(fails, p):
		if done, err := run(); !done || err != nil {
			return done, err
		}
		return true, b.err(p)
	}
	return run()
}

func (s *stream) tell() error {
	if f := s.failure.Load(); f != nil && !f.told.Load() {
		return f.tell()
	}
	return nil
}

func (s *stream) Query() (bool, error) {
	return s.b.answer(point{"Stream.Query", ""}, &s.answered, s.Stream.Query, s.tell)
}

func (s *stream) Sync() error {
	p := point{"Stream.Sync", ""}
	if s.b.is(early, p) { // what was enqueued last is not waited for if it waits itself
		if done, err := s.Stream.Query(); !done {
			return err
		}
	}
	return s.b.plain(p, func() error {
		err := s.Stream.Sync()
		for s.b.is(late, p) && err == nil { // later work is waited for as well
			done, failed := s.Stream.Query()
			if err = failed; done {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err == nil {
			err = s.tell()
		}
		return err
	})
}

func (s *stream) Handle() uintptr {
	h, p := uint64(s.Stream.Handle()), point{"Stream.Handle", ""}
	s.b.low(p.method, "handle", &h)
	if s.b.is(nothing, p) {
		return 0
	}
	return uintptr(h)
}

func (s *stream) Close() error { return s.b.release(point{"Stream.Close", ""}, s.Stream.Close) }

func (s *stream) Gate() (driver.Gate, error) {
	p := point{"Gater.Gate", ""}
	enqueuePostponed(&s.late)
	if s.b.is(nothing, p) {
		return &gate{b: s.b}, nil
	}
	if s.b.is(late, p) {
		g := &gate{b: s.b, want: make(chan struct{})}
		postpone(&s.again, func() {
			if x, err := s.Stream.(driver.Gater).Gate(); err == nil {
				go func() { <-g.want; _ = x.Open() }()
			}
		}, nil)
		return g, nil
	}
	return made(s.b, p, func() (driver.Gate, error) {
		g, err := s.Stream.(driver.Gater).Gate()
		if err != nil {
			return nil, err
		}
		return &gate{Gate: g, b: s.b}, nil
	}, func(g driver.Gate) { _ = g.Open() })
}

// gate is a gate of the layer.
type gate struct {
	driver.Gate
	b    *backend
	want chan struct{} // closed when a gate that comes too late is to open
}

func (g *gate) Open() error {
	return g.b.release(point{"Gate.Open", ""}, func() error {
		if g.want != nil {
			close(g.want)
		}
		if g.Gate == nil {
			return nil
		}
		return g.Gate.Open()
	})
}

func (s *stream) OnDone(fn func()) error {
	p := point{"Notifier.OnDone", ""}
	on := s.Stream.(driver.Notifier)
	run := func() error {
		if err := s.b.ask(p); err != nil {
			return err
		}
		return on.OnDone(fn)
	}
	switch {
	case s.b.is(nothing, p):
		return nil
	case s.b.is(early, p):
		go fn()
		return nil
	case s.b.is(late, p):
		postpone(&s.again, func() { _ = on.OnDone(fn) }, nil)
		return nil
	case s.b.is(twice, p):
		if err := run(); err != nil {
			return err
		}
		return on.OnDone(fn)
	case s.b.is(hides, p):
		_ = run()
		return nil
	case s.b.is(fails, p):
		if err := run(); err != nil {
			return err
		}
		return s.b.err(p)
	}
	return run()
}

// event is an event of the layer.
type event struct {
	driver.Event
	d *device
	b *backend

	answered atomic.Bool
	failure  atomic.Pointer[failure]
}

func (e *event) tell() error { return e.failure.Load().tell() }

func (e *event) Query() (bool, error) {
	return e.b.answer(point{"Event.Query", ""}, &e.answered, e.Event.Query, e.tell)
}

func (e *event) Sync() error {
	return e.b.plain(point{"Event.Sync", ""}, func() error {
		err := e.Event.Sync()
		if err == nil {
			err = e.tell()
		}
		return err
	})
}

func (e *event) Elapsed(since driver.Event) (d time.Duration, err error) {
	p := point{"Timer.Elapsed", ""}
	err = e.b.plain(p, func() (err error) {
		v, err := e.Event.(driver.Timer).Elapsed(since.(*event).Event)
		d += v
		return err
	})
	return d, err
}

func (e *event) Close() error { return e.b.release(point{"Event.Close", ""}, e.Event.Close) }
