package conformance

import (
	"context"
	"errors"
	"io"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// vendorCall is a method that calls the driver.
type vendorCall struct {
	what  string
	needs hal.Caps

	// anyHandle says that the method takes a handle, which may be any number. Some drivers report a lost device for a number that is no
	// handle, so the method itself never reports one.
	anyHandle bool

	// call makes the call, and returns what it has opened, or nil. If before is not nil it is called first, and its
	// driver calls do not count.
	call   func() (io.Closer, error)
	before func() error
}

// opened returns x as an io.Closer, or nil if there is an error.
func opened[C io.Closer](x C, err error) (io.Closer, error) {
	if err != nil {
		return nil, err
	}
	return x, nil
}

// signals is a gate as an io.Closer: Close opens the gate.
type signals struct{ *hal.Gate }

func (g signals) Close() error { return g.Signal() }

// objects are what vendorCalls work on. They are made on a device, and closed at its end.
type objects struct {
	d          *hal.Device
	m, o, h, g *hal.Memory
	far        *hal.Memory // of a peer, or nil
	s          *hal.Stream
	out, host  []byte
	closers    []io.Closer
}

func (t *trial) objects() *objects {
	b := &another{t.backend()}
	if b.Backend == nil {
		t.Skipf("backend %q is not registered, and Harness.Backend is nil", t.dev.Info().Backend)
	}
	d, err := hal.OpenWith(t.ctx, b, t.dev.Info().Ordinal)
	t.must(err, "open the device once more")
	x := &objects{d: d, out: make([]byte, 128)}
	keep := func(c io.Closer, err error) {
		t.must(err, "prepare")
		x.closers = append(x.closers, c)
	}
	if t.peer != nil {
		p, err := hal.OpenWith(t.ctx, b, t.peer.Info().Ordinal)
		keep(p, err)
		if d.CanAccessPeer(p) {
			x.far, err = p.Alloc(hal.KindDevice, 4096, 0)
			keep(x.far, err)
		}
	}
	x.g, err = d.Alloc(hal.KindHost, 4096, 0)
	keep(x.g, err)
	x.m, err = d.Alloc(hal.KindDevice, 4096, 0)
	keep(x.m, err)
	x.o, err = d.Alloc(hal.KindDevice, 4096, 0)
	keep(x.o, err)
	x.h, err = d.Alloc(hal.KindHost, 4096, 0)
	keep(x.h, err)
	x.s, err = d.NewStream()
	keep(x.s, err)
	_ = x.s.Handle() // with that, package hal leaves short copies to the driver
	t.must(x.s.Sync(t.ctx), "sync")
	if b, err := x.g.Bytes(); err == nil {
		x.host = b[:128]
	}
	return x
}

// close closes everything, last first.
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
	registered := make([]byte, 4096)
	var c io.Closer // opened before a call that closes it
	var gate *hal.Gate
	plain := func(fn func() error) func() (io.Closer, error) { return func() (io.Closer, error) { return nil, fn() } }
	alloc := func(k hal.Kind) func() (io.Closer, error) {
		return func() (io.Closer, error) { return opened(x.d.Alloc(k, 100, 0)) }
	}
	work := func() error { return s.Fill(m.All(), hal.Pattern8(7)) }
	newEvent := func() (io.Closer, error) { return opened(s.Record()) }
	shared := func() (io.Closer, error) { return opened(x.d.Alloc(hal.KindShared, 4096, 0)) }
	opens := func(open func() (io.Closer, error)) func() error {
		return func() (err error) { c, err = open(); return err }
	}
	closes := plain(func() error { return c.Close() })
	// waits makes s wait for an event of a stream that is held shut.
	waits := func(what string, of *hal.Device) vendorCall {
		var e *hal.Event
		var held *hal.Stream
		return vendorCall{what, hal.CapGate, false, func() (io.Closer, error) {
			err := s.WaitEvent(e)
			return closers{signals{gate}, e, held}, err
		}, func() (err error) {
			if held, err = of.NewStream(); err == nil {
				if gate, err = held.Gate(); err == nil {
					e, err = held.Record()
				}
			}
			return err
		}}
	}
	list := []vendorCall{
		{"allocate", 0, false, alloc(hal.KindDevice), nil},
		{"allocate host memory", 0, false, alloc(hal.KindHost), nil},
		{"allocate shared memory", hal.CapShared, false, alloc(hal.KindShared), nil},
		{"close memory", 0, false, closes, opens(alloc(hal.KindDevice))},
		{"new stream", 0, false, func() (io.Closer, error) { return opened(x.d.NewStream()) }, nil},
		{"close a stream", 0, false, closes, opens(func() (io.Closer, error) { return opened(x.d.NewStream()) })},
		{"record", 0, false, newEvent, nil},
		{"record with timing", hal.CapTiming, false, func() (io.Closer, error) { return opened(s.Record(timing)) }, nil},
		{"memory information", hal.CapMemInfo, false, plain(func() error { _, _, err := x.d.MemInfo(); return err }), nil},
		{"fill", 0, false, plain(work), nil},
		{"fill host memory", 0, false, plain(func() error { return s.Fill(h.All(), hal.Zero) }), nil},
		{"copy", 0, false, plain(func() error { return s.Copy(m.All(), o.All()) }), nil},
		{"copy from host memory", 0, false, plain(func() error { return s.Copy(m.All(), h.All()) }), nil},
		{"copy to host memory", 0, false, plain(func() error { return s.Copy(h.All(), m.All()) }), nil},
		{"copy between host memories", 0, false, plain(func() error { return s.Copy(h.All(), x.g.All()) }), nil},
		{"copy in", 0, false, plain(func() error { return s.CopyIn(region(m, 0, 128), x.out) }), nil},
		{"copy out", 0, false, plain(func() error { return s.CopyOut(x.out, region(m, 0, 128)) }), nil},
		{"copy in to host memory", 0, false, plain(func() error { return s.CopyIn(region(h, 0, 128), x.out) }), nil},
		{"copy out of host memory", 0, false, plain(func() error { return s.CopyOut(x.out, region(h, 0, 128)) }), nil},
		{"copy rows", 0, false, plain(func() error { return s.Copy2D(o.Pitched(0, 64), rows, 8, 4) }), nil},
		{"copy rows in", 0, false, plain(func() error { return s.CopyIn2D(rows, x.out, 32, 8, 4) }), nil},
		{"copy rows out", 0, false, plain(func() error { return s.CopyOut2D(x.out, 32, rows, 8, 4) }), nil},
		{"sync", 0, false, plain(func() error { return s.Sync(context.Background()) }), work},
		waits("wait", x.d),
		{"gate", hal.CapGate, false, func() (io.Closer, error) { g, err := s.Gate(); return opened(signals{g}, err) }, nil},
		{"open a gate", hal.CapGate, false, plain(func() error { return gate.Signal() }), func() (err error) { gate, err = s.Gate(); return err }},
		{"call", hal.CapHostCallback, false, plain(func() error { return s.OnDone(func() {}) }), nil},
		{"register", hal.CapRegister, false, func() (io.Closer, error) { return opened(x.d.Register(registered)) }, nil},
		{"import", hal.CapImport, false, func() (io.Closer, error) {
			return opened(x.d.Import(hal.ExternalMemory{Kind: hal.KindDevice, Handle: m.Handle(), Size: 64}))
		}, nil},
		{"import a stream", hal.CapImportStream, true, func() (io.Closer, error) { return opened(x.d.ImportStream(s.Handle(), func() {})) }, nil},
		{"pointer", hal.CapPointerInfo | hal.CapAddress, false, plain(func() error { _, err := x.d.PointerInfo(m.Handle()); return err }), nil},
		{"allocate in stream order", hal.CapStreamAlloc, false, func() (io.Closer, error) { return opened(s.AllocAsync(100, 0)) }, nil},
		{"export", hal.CapIPC, false, plain(func() error { _, err := m.IPCHandle(); return err }), nil},
		{"prefetch", hal.CapPrefetch | hal.CapShared, false, func() (io.Closer, error) { return c, s.Prefetch(c.(*hal.Memory).All(), false) }, opens(shared)},
		{"fill shared memory", hal.CapShared, false, func() (io.Closer, error) { return c, s.Fill(c.(*hal.Memory).All(), hal.Zero) }, opens(shared)},
	}
	if x.host != nil {
		list = append(list, vendorCall{"copy in of page-locked bytes", 0, false, plain(func() error { return s.CopyIn(region(m, 0, 128), x.host) }), nil},
			vendorCall{"copy out to page-locked bytes", 0, false, plain(func() error { return s.CopyOut(x.host, region(m, 0, 128)) }), nil})
	}
	if x.far != nil {
		list = append(list, vendorCall{"copy from a peer", 0, false, plain(func() error { return s.Copy(m.All(), x.far.All()) }), nil},
			vendorCall{"copy to a peer", 0, false, plain(func() error { return s.Copy(x.far.All(), m.All()) }), nil},
			waits("wait for a peer", x.far.Device()))
	}
	if image, ok := t.image(x.d); ok {
		load := func() (io.Closer, error) { return opened(x.d.Load(image)) }
		var k *hal.Kernel
		find := func() (err error) { k, err = c.(*hal.Module).Kernel("add"); return err }
		launch := func() error {
			return s.Launch(k, hal.Over(64).Of(1), hal.At(m.All()), hal.At(o.All()), hal.Value(uint32(1)), hal.Value(uint32(64)))
		}
		// ready makes a step that has run, so that its launches are prepared where the driver can do that.
		var step *kernel.Step
		ready := func() (io.Closer, error) {
			a, b := t.buffered(64, 1), t.buffered(64, 2)
			var err error
			if step, err = t.step(s, a, b, 64); err != nil {
				return nil, err
			}
			return closers{step, a, b}, errors.Join(step.Run(t.ctx), step.Run(t.ctx), step.Run(t.ctx), s.Sync(t.ctx))
		}
		list = append(list, vendorCall{"load", 0, false, load, nil}, vendorCall{"close a module", 0, false, closes, opens(load)},
			vendorCall{"run a step", 0, false, func() (io.Closer, error) { return c, step.Run(t.ctx) }, opens(ready)},
			vendorCall{"close a step", 0, false, func() (io.Closer, error) { return c, step.Close() }, opens(ready)},
			vendorCall{"kernel", 0, false, func() (io.Closer, error) { return c, find() }, opens(load)},
			vendorCall{"launch", 0, false, func() (io.Closer, error) { return c, launch() }, func() error { return errors.Join(opens(load)(), find()) }})
	}
	return list
}

// closers are closed in their order.
type closers []io.Closer

func (all closers) Close() (err error) {
	for _, c := range all {
		err = errors.Join(err, c.Close())
	}
	return err
}

// image returns the suite's kernels, if the device takes them as they are: as Go functions, or as SPIR-V for Vulkan.
func (t *trial) image(d *hal.Device) (hal.Image, bool) {
	for _, f := range d.Formats() {
		switch f {
		case hal.FormatGo:
			return hal.Image{Format: f, Functions: kernelsGo}, true
		case hal.FormatOpenCLC:
			return hal.Image{Format: f, Data: []byte(kernel.Prelude(hal.LanguageOpenCLC) + kernelsC)}, true
		}
	}
	return hal.Image{}, false
}

// tried makes the n-th driver call of a method go wrong, as fault says, and returns the method's error and how many calls it made.
func (t *trial) tried(f FaultControl, x *objects, c vendorCall, n uint64, fault func(n uint64)) (calls uint64, err error) {
	if c.before != nil {
		t.must(c.before(), "before %s", c.what)
	}
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

// tries is how often the calls of a method are made to fail until the method returns an error. It may return none, because the call that
// failed may be one that package hal makes meanwhile for its own purposes.
const tries = 20

// everyMethodTells lets each method's driver calls fail, one after the other.
func everyMethodTells(t *trial) {
	f := t.faults()
	x := t.objects()
	defer func() { f.Reset(); t.must(x.close(), "close") }()
	for _, c := range t.vendorCalls(x) {
		if !x.d.Caps().Has(c.needs) {
			continue
		}
		t.sync(x.s)
		calls, err := t.tried(f, x, c, 0, nil)
		t.must(err, "%s", c.what)
		failed, told := 0, 0
		for try := 0; try < tries && told == 0 && calls > 0; try++ {
			for n := uint64(1); n <= calls; n++ {
				t.sync(x.s)
				made, err := t.tried(f, x, c, n, f.FailCall)
				calls = max(calls, made)
				if made >= n {
					failed++
				}
				if e := (*hal.Error)(nil); errors.As(err, &e) && e.Vendor.API != "" {
					told++
				}
			}
		}
		t.want(failed == 0 || told > 0, "%s makes %d driver calls, and whichever fails, no error names it", c.what, calls)
		t.sync(x.s)
		_, err = t.tried(f, x, c, 0, nil)
		t.must(err, "%s, once more", c.what)
	}
}

// lostAtEveryCall loses the device at each driver call of each method. If the method does not need the call, it may
// return no error.
func lostAtEveryCall(t *trial) {
	f := t.faults()
	for i, more := 0, true; more; i++ {
		calls, lost, told, what := uint64(0), 0, 0, ""
		for try := 0; try < tries && told == 0 && more; try++ {
			for n := uint64(0); n <= calls && more; n++ {
				f.Reset()
				x := t.objects()
				all := t.vendorCalls(x)
				if more = i < len(all); !more || !x.d.Caps().Has(all[i].needs) || all[i].anyHandle {
					t.must(x.close(), "close")
					try = tries
					break
				}
				c := all[i]
				what = c.what
				made, err := t.tried(f, x, c, n, f.LoseDevice)
				switch {
				case n == 0:
					t.must(err, "%s", c.what)
					calls = made
				case err != nil:
					t.wantKind(err, hal.ErrDeviceLost, "%s loses the device at call %d", c.what, n)
					t.staysLost(x, c.what, n)
					told++
				case made >= n:
					lost++
				}
				if err := x.close(); errors.Is(err, hal.ErrBusy) {
					t.Fatalf("%s loses the device at call %d: it does not close: %v", c.what, n, err)
				}
			}
			if calls == 0 {
				break
			}
		}
		t.want(lost == 0 || told > 0, "%s makes %d driver calls, and whichever finds the device lost, there is no error", what, calls)
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
