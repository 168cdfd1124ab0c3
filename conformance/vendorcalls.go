package conformance

import (
	"errors"
	"io"

	"github.com/go-halyard/halyard/hal"
)

// vendorCall is a method that calls the driver.
type vendorCall struct {
	what  string
	needs hal.Caps

	// anyHandle says that the method takes any number for a handle. Some drivers call a device lost if it is none, so the method never does.
	anyHandle bool

	// call makes the call, and returns what it has opened, or nil.
	call func() (io.Closer, error)
}

// opened returns x as what was opened, unless there is an error.
func opened[C io.Closer](x C, err error) (io.Closer, error) {
	if err != nil {
		return nil, err
	}
	return x, nil
}

// signals is a gate as what was opened.
type signals struct{ *hal.Gate }

func (g signals) Close() error { return g.Signal() }

// objects are what vendorCalls work on. They are made on a device, and closed at its end.
type objects struct {
	d       *hal.Device
	m, o, h *hal.Memory
	s       *hal.Stream
	e       *hal.Event
	out     []byte
	closers []io.Closer
}

func (t *trial) objects(d *hal.Device) *objects {
	x := &objects{d: d, out: make([]byte, 128)}
	keep := func(c io.Closer, err error) {
		t.must(err, "prepare")
		x.closers = append(x.closers, c)
	}
	var err error
	x.m, err = d.Alloc(hal.KindDevice, 4096, 0)
	keep(x.m, err)
	x.o, err = d.Alloc(hal.KindDevice, 4096, 0)
	keep(x.o, err)
	x.h, err = d.Alloc(hal.KindHost, 4096, 0)
	keep(x.h, err)
	x.s, err = d.NewStream()
	keep(x.s, err)
	x.e, err = x.s.Record()
	keep(x.e, err)
	t.must(x.s.Sync(t.ctx), "sync")
	return x
}

// close closes everything, last first. It returns the first error.
func (x *objects) close() (err error) {
	for i := range x.closers {
		err = errors.Join(err, x.closers[len(x.closers)-1-i].Close())
	}
	return errors.Join(err, x.d.Close())
}

// vendorCalls lists the methods that call the driver.
func (t *trial) vendorCalls(x *objects) []vendorCall {
	s, m, o, h := x.s, x.m, x.o, x.h
	rows := m.Pitched(0, 64)
	plain := func(fn func() error) func() (io.Closer, error) { return func() (io.Closer, error) { return nil, fn() } }
	// after makes a call when there was work, so that the answer is not known before.
	after := func(fn func() error) func() (io.Closer, error) {
		return plain(func() error { return errors.Join(s.Fill(m.All(), hal.Pattern8(7)), fn()) })
	}
	registered := make([]byte, 4096)
	alloc := func(k hal.Kind) func() (io.Closer, error) {
		return func() (io.Closer, error) { return opened(x.d.Alloc(k, 100, 0)) }
	}
	return []vendorCall{
		{"allocate", 0, false, alloc(hal.KindDevice)},
		{"allocate host memory", 0, false, alloc(hal.KindHost)},
		{"allocate shared memory", hal.CapShared, false, alloc(hal.KindShared)},
		{"new stream", 0, false, func() (io.Closer, error) { return opened(x.d.NewStream()) }},
		{"record", 0, false, func() (io.Closer, error) { return opened(s.Record()) }},
		{"record with timing", hal.CapTiming, false, func() (io.Closer, error) { return opened(s.Record(timing)) }},
		{"memory information", hal.CapMemInfo, false, plain(func() error { _, _, err := x.d.MemInfo(); return err })},
		{"fill", 0, false, plain(func() error { return s.Fill(m.All(), hal.Zero) })},
		{"copy", 0, false, plain(func() error { return s.Copy(m.All(), o.All()) })},
		{"copy from host memory", 0, false, plain(func() error { return s.Copy(m.All(), h.All()) })},
		{"copy to host memory", 0, false, plain(func() error { return s.Copy(h.All(), m.All()) })},
		{"copy in", 0, false, plain(func() error { return s.CopyIn(region(m, 0, 128), x.out) })},
		{"copy out", 0, false, plain(func() error { return s.CopyOut(x.out, region(m, 0, 128)) })},
		{"copy rows", 0, false, plain(func() error { return s.Copy2D(o.Pitched(0, 64), rows, 8, 4) })},
		{"copy rows in", 0, false, plain(func() error { return s.CopyIn2D(rows, x.out, 32, 8, 4) })},
		{"copy rows out", 0, false, plain(func() error { return s.CopyOut2D(x.out, 32, rows, 8, 4) })},
		{"sync", 0, false, after(func() error { return s.Sync(t.ctx) })},
		{"done", 0, false, after(func() error { _, err := s.Done(); return err })},
		{"gate", hal.CapGate, false, func() (io.Closer, error) { g, err := s.Gate(); return opened(signals{g}, err) }},
		{"call", hal.CapHostCallback, false, plain(func() error { return s.OnDone(func() {}) })},
		{"register", hal.CapRegister, false, func() (io.Closer, error) { return opened(x.d.Register(registered)) }},
		{"import", hal.CapImport, false, func() (io.Closer, error) {
			return opened(x.d.Import(hal.ExternalMemory{Kind: hal.KindDevice, Handle: m.Handle(), Size: 64}))
		}},
		{"import a stream", hal.CapImportStream, true, func() (io.Closer, error) { return opened(x.d.ImportStream(s.Handle(), func() {})) }},
		{"pointer", hal.CapPointerInfo | hal.CapAddress, false, plain(func() error { _, err := x.d.PointerInfo(m.Handle()); return err })},
		{"allocate in stream order", hal.CapStreamAlloc, false, func() (io.Closer, error) { return opened(s.AllocAsync(100, 0)) }},
		{"export", hal.CapIPC, false, plain(func() error { _, err := m.IPCHandle(); return err })},
		{"prefetch", hal.CapPrefetch | hal.CapShared, false, func() (io.Closer, error) {
			p, err := x.d.Alloc(hal.KindShared, 4096, 0)
			if err != nil {
				return nil, err
			}
			if err := s.Prefetch(p.All(), false); err != nil {
				_ = p.Close()
				return nil, err
			}
			return p, nil
		}},
	}
}

// tried makes the n-th driver call of a method go wrong, as fault says, and returns the method's error and how many calls it made.
func (t *trial) tried(f FaultControl, x *objects, c vendorCall, n uint64, fault func(n uint64)) (calls uint64, err error) {
	f.Reset()
	if n > 0 {
		fault(n)
	}
	made, err := c.call()
	calls = f.CallCount()
	f.Reset()
	if made != nil {
		_ = made.Close()
	}
	return calls, err
}

// everyMethodTells lets each method's driver calls fail, one after the other.
func everyMethodTells(t *trial) {
	f := t.faults()
	x := t.objects(t.separateUnclosed())
	defer func() { f.Reset(); t.must(x.close(), "close") }()
	for _, c := range t.vendorCalls(x) {
		if !x.d.Caps().Has(c.needs) {
			continue
		}
		// Nothing is under way, and no other goroutine makes calls.
		t.sync(x.s)
		calls, err := t.tried(f, x, c, 0, nil)
		t.must(err, "%s", c.what)
		failed, told := 0, 0
		for n := uint64(1); n <= calls; n++ {
			t.sync(x.s)
			made, err := t.tried(f, x, c, n, f.FailCall)
			if made >= n {
				failed++
			}
			if e := (*hal.Error)(nil); errors.As(err, &e) && e.Vendor.API != "" {
				told++
			}
		}
		t.want(failed == 0 || told > 0, "%s makes %d driver calls, and whichever fails, no error names it", c.what, calls)
		t.sync(x.s)
		_, err = t.tried(f, x, c, 0, nil)
		t.must(err, "%s, once more", c.what)
	}
}

// lostAtEveryCall loses the device at each driver call of each method. A call that a method can do without may hide it.
func lostAtEveryCall(t *trial) {
	f := t.faults()
	for i := 0; ; i++ {
		calls, lost, told := uint64(0), 0, 0
		for n := uint64(0); n <= calls; n++ {
			f.Reset()
			x := t.objects(t.separateUnclosed())
			all := t.vendorCalls(x)
			if i == len(all) {
				t.must(x.close(), "close")
				return
			}
			c := all[i]
			if !x.d.Caps().Has(c.needs) || c.anyHandle {
				t.must(x.close(), "close")
				break
			}
			made, err := t.tried(f, x, c, n, f.LoseDevice)
			switch {
			case n == 0:
				t.must(err, "%s", c.what)
				calls = made
			case err != nil:
				t.wantKind(err, hal.ErrDeviceLost, "%s loses the device at call %d", c.what, n)
				t.staysLost(x, c.what, n)
				told++
				fallthrough
			case made >= n:
				lost++
			}
			if err := x.close(); errors.Is(err, hal.ErrBusy) {
				t.Fatalf("%s loses the device at call %d: it does not close: %v", c.what, n, err)
			}
			t.want(n < calls || lost == 0 || told > 0, "%s makes %d driver calls, and whichever finds the device lost, there is no error", c.what, calls)
		}
	}
}

// staysLost fails unless everything says that the device is lost.
func (t *trial) staysLost(x *objects, what string, n uint64) {
	for then, call := range map[string]func() error{
		"alloc": func() error { return made(x.d.Alloc(hal.KindDevice, 64, 0)) },
		"fill":  func() error { return x.s.Fill(x.m.All(), hal.Zero) },
		"sync":  func() error { return x.s.Sync(t.ctx) },
	} {
		t.wantKind(call(), hal.ErrDeviceLost, "%s loses the device at call %d; then %s", what, n, then)
	}
}
