package cudahiptest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

func lostDevice(h *Harness, t *testing.T) {
	h.reset(t, 31)
	d, err := h.backend.Open(context.Background(), 0)
	ok(t, err)
	s, err := d.NewStream(driver.StreamOptions{})
	ok(t, err)
	m, err := d.Alloc(driver.KindDevice, 100, 0)
	ok(t, err)
	ev, err := d.NewEvent(driver.EventOptions{})
	ok(t, err)
	g, err := s.(driver.Gater).Gate()
	ok(t, err)
	called := make(chan struct{})
	ok(t, s.(driver.Notifier).OnDone(func() { close(called) }))
	out := make([]byte, 100)
	ok(t, s.CopyOut(at(out), whole(m))) // staged, since the stream is busy
	ok(t, s.Record(ev))

	const illegalAddress = 700
	ok(t, h.sim.StickyOn(0, illegalAddress))
	e := kind(t, s.Sync(), driver.ErrDeviceLost)
	if e.Vendor.Code != illegalAddress || e.Vendor.Name == "" || e.Vendor.API == "" {
		t.Errorf("vendor %+v", e.Vendor)
	}
	for range 2 { // it stays lost
		_, err = d.Alloc(driver.KindDevice, 100, 0)
		kind(t, err, driver.ErrDeviceLost)
		done, err := ev.Query()
		kind(t, err, driver.ErrDeviceLost)
		if !done {
			t.Error("an event of a lost device is never done")
		}
		kind(t, s.Fill(whole(m), driver.Pattern{Width: 1}), driver.ErrDeviceLost)
	}
	<-called // the backend makes the callback, although the driver never does
	ok(t, g.Open())
	for _, c := range []func() error{ev.Close, m.Free, s.Close, d.Close} {
		if err := c(); err != nil && !errors.Is(err, driver.ErrDeviceLost) {
			t.Error(err)
		}
	}
	// The simulated driver drops the work of a lost context only when its scheduler reaches it.
	// Until then it reports the memory as in use.
	h.sim.Clear()
	if h.Retain == "" {
		return // the context belongs to the process and stays lost
	}
	// When all handles are closed, the context is destroyed, and the error with it.
	fresh := h.open(t, 0)
	fs := newStream(t, fresh)
	fm := alloc(t, fresh, driver.KindDevice, 100)
	want := random(1, 100)
	write(t, fs, whole(fm), want)
	same(t, "after a new start", read(t, fs, whole(fm)), want)
}

// everyNthCallFails runs a program again and again. In the n-th run the n-th call of the driver
// fails. It ends when a run makes fewer than n calls.
func everyNthCallFails(h *Harness, t *testing.T) {
	h.reset(t, 0)
	// The driver is loaded here, because after a failure while it is loaded it would stay
	// unavailable.
	h.calm(t, 0)
	first := program{h: h, t: t}
	first.run()
	if len(first.errs) > 0 {
		t.Fatalf("errors with no call failing: %v", first.errs)
	}
	for _, code := range []int{1, 2, 999} {
		failed := false
		for n := uint64(1); ; n++ {
			h.calm(t, 0)
			before := h.sim.CallCount()
			h.sim.FailCall(n, code)
			p := program{h: h, t: t}
			p.run()
			h.sim.FailCall(0, 0)
			for _, v := range h.sim.Violations() {
				t.Errorf("call %d failing with %d: the driver's rules were broken: %s", n, code, v)
			}
			for _, l := range h.sim.Leaks() {
				t.Errorf("call %d failing with %d: still alive: %s", n, code, l)
			}
			if t.Failed() {
				t.FailNow()
			}
			if h.sim.CallCount()-before < n {
				if len(p.errs) > 0 {
					t.Errorf("errors with no call failing: %v", p.errs)
				}
				break
			}
			failed = failed || len(p.errs) > 0
		}
		if !failed {
			t.Errorf("no call failed with %d", code)
		}
	}
}

// program uses every kind of object. It goes on after an error, and releases whatever it made.
type program struct {
	h    *Harness
	t    *testing.T
	errs []error
	caps driver.Caps
}

// got reports whether a step succeeded; an error must be typed and name the vendor's call.
func (p *program) got(err error) bool {
	if err == nil {
		return true
	}
	var e *driver.Error
	if !errors.As(err, &e) || e.Kind == nil || e.Vendor.API == "" || e.Op == "" {
		p.t.Errorf("error %#v is not complete", err)
	}
	p.errs = append(p.errs, err)
	return false
}

func (p *program) run() {
	infos, err := p.h.backend.Devices(context.Background())
	p.got(err)
	_ = infos
	d, err := p.h.backend.Open(context.Background(), 0)
	if !p.got(err) {
		return
	}
	defer func() { p.got(d.Close()) }()
	peer, err := p.h.backend.Open(context.Background(), 1)
	if p.got(err) {
		d.(driver.Peering).PeerAccess(peer)
		defer func() { p.got(peer.Close()) }()
	}
	s, err := d.NewStream(driver.StreamOptions{Priority: -1})
	if !p.got(err) {
		return
	}
	defer func() { p.got(s.Close()) }()
	defer func() {
		for s.Sync() != nil {
			p.got(s.Sync())
		}
	}()
	// If a query of an attribute fails, the device counts as lacking the attribute, so capabilities
	// may be missing.
	p.caps = d.Info().Caps
	for _, k := range kinds {
		if k != driver.KindShared || p.caps.Has(driver.CapShared) {
			p.memory(d, s, k)
		}
	}
	p.staged(d, s)
	if m, err := d.Alloc(driver.KindDevice, 4000, 0); p.got(err) {
		p.kernels(d, s, m)
		p.got(m.Free())
	}
	p.others(d, s)
}

var stagedBytes = sync.OnceValue(func() []byte { return random(9, 300<<10) })

// staged copies pageable memory to the device and back, through page-locked memory.
func (p *program) staged(d driver.Device, s driver.Stream) {
	m, err := d.Alloc(driver.KindDevice, 300<<10, 0)
	if !p.got(err) {
		return
	}
	defer func() { p.got(m.Free()) }()
	want, got := stagedBytes(), make([]byte, 300<<10)
	right := p.got(s.CopyIn(whole(m), at(want)))
	right = p.got(s.CopyOut(at(got), whole(m))) && right
	if !p.got(s.Sync()) {
		ok(p.t, s.Sync())
	}
	if right && !bytes.Equal(got, want) {
		p.t.Error("staged bytes were lost without an error")
	}
}

// memory writes and reads one memory. The bytes must be right unless a step returned an error.
func (p *program) memory(d driver.Device, s driver.Stream, k driver.Kind) {
	m, err := d.Alloc(k, 4000, 512)
	if !p.got(err) {
		return
	}
	defer func() { p.got(m.Free()) }()
	want, got := random(8, 4000), make([]byte, 4000)
	right := p.got(s.CopyIn(whole(m), at(want)))
	right = p.got(s.Fill(region(m, 0, 800), driver.Pattern{Bits: 0x0102030405060708, Width: 8})) && right
	right = p.got(s.Copy(region(m, 2000, 800), region(m, 0, 800))) && right
	for i := range 800 {
		want[i] = byte(8 - i%8)
		want[2000+i] = byte(8 - i%8)
	}
	g, err := s.(driver.Gater).Gate()
	if p.got(err) {
		right = p.got(s.CopyOut(at(got), whole(m))) && right
		ok(p.t, g.Open())
	} else {
		right = p.got(s.CopyOut(at(got), whole(m))) && right
	}
	if !p.got(s.Sync()) {
		ok(p.t, s.Sync())
	}
	if right && !bytes.Equal(got, want) {
		p.t.Error("bytes were lost without an error")
	}
}

func (p *program) others(d driver.Device, s driver.Stream) {
	b := make([]byte, 1000)
	if p.caps.Has(driver.CapRegister) {
		if r, err := d.(driver.Registerer).Register(at(b), 1000); p.got(err) {
			p.got(r.Free())
		}
	}
	if p.caps.Has(driver.CapStreamAlloc) {
		if m, err := s.(driver.StreamAllocator).AllocAsync(1000, 0); p.got(err) {
			p.got(s.Fill(whole(m), driver.Pattern{Bits: 1, Width: 1}))
			for s.Sync() != nil {
				p.got(s.Sync())
			}
			p.got(m.Free())
		}
	}
	called := make(chan struct{})
	if p.got(s.(driver.Notifier).OnDone(func() { close(called) })) {
		for s.Sync() != nil {
			p.got(s.Sync())
		}
		<-called
	}
	a, err := d.NewEvent(driver.EventOptions{Timing: true})
	if !p.got(err) {
		return
	}
	defer func() { p.got(a.Close()) }()
	z, err := d.NewEvent(driver.EventOptions{Timing: true})
	if !p.got(err) {
		return
	}
	defer func() { p.got(z.Close()) }()
	recorded := p.got(s.Record(a))
	recorded = p.got(s.Record(z)) && recorded
	p.got(s.Wait(a))
	_, err = s.Query()
	p.got(err)
	p.got(z.Sync())
	if _, err := z.Query(); !p.got(err) {
		ok(p.t, z.Sync())
	}
	if recorded && z.Sync() == nil {
		_, err = z.(driver.Timer).Elapsed(a)
		p.got(err)
	}
	_, _, err = d.MemInfo()
	p.got(err)
}
