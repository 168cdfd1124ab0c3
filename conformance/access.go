package conformance

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/go-halyard/halyard/hal"
)

// must ends the check if err is not nil.
func (t *trial) must(err error, what string, args ...any) {
	if err != nil {
		t.Fatalf("%s: %v", fmt.Sprintf(what, args...), err)
	}
}

// wantKind fails unless err is of the kind and an *hal.Error can be found in it.
func (t *trial) wantKind(err, kind error, what string, args ...any) {
	var e *hal.Error
	switch {
	case err == nil:
		t.Errorf("%s: no error, want %q", fmt.Sprintf(what, args...), kind)
	case !errors.Is(err, kind):
		t.Errorf("%s: error %q, want kind %q", fmt.Sprintf(what, args...), err, kind)
	case !errors.As(err, &e):
		t.Errorf("%s: errors.As finds no *hal.Error in %q", fmt.Sprintf(what, args...), err)
	}
}

// want fails and ends the check unless ok.
func (t *trial) want(ok bool, what string, args ...any) {
	if !ok {
		t.Fatalf(what, args...)
	}
}

// memory allocates memory that is closed at the end of the check.
func (t *trial) memory(d *hal.Device, kind hal.Kind, size int) *hal.Memory {
	m, err := d.Alloc(kind, uint64(size), 0)
	t.must(err, "allocate %d bytes of %v memory", size, kind)
	t.Cleanup(func() { t.must(m.Close(), "close memory") })
	return m
}

// filled allocates device memory that holds b.
func (t *trial) filled(d *hal.Device, b []byte) *hal.Memory {
	m := t.memory(d, hal.KindDevice, len(b))
	t.put(m, 0, b)
	return m
}

// stream makes a stream that is closed at the end of the check.
func (t *trial) stream(d *hal.Device) *hal.Stream {
	s, err := d.NewStream()
	t.must(err, "new stream")
	t.Cleanup(func() { t.must(s.Close(), "close stream") })
	return s
}

// recorded records an event on s that is closed at the end of the check.
func (t *trial) recorded(s *hal.Stream, o ...hal.EventOption) *hal.Event {
	e, err := s.Record(o...)
	t.must(err, "record")
	t.Cleanup(func() { t.must(e.Close(), "close event") })
	return e
}

// timing makes Record record an event that Elapsed accepts.
var timing = hal.WithTiming()

// shut holds s shut until the gate is opened, which happens at the end of the check at the latest.
func (t *trial) shut(s *hal.Stream) *hal.Gate {
	g, err := s.Gate()
	t.must(err, "gate")
	t.mu.Lock()
	t.gates = append(t.gates, g)
	t.mu.Unlock()
	t.Cleanup(func() { t.must(g.Signal(), "open gate") })
	return g
}

// openGates opens all gates of a check that hangs, so that it may still come to its end.
func (t *trial) openGates() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.gates {
		_ = g.Signal()
	}
}

// letGo opens a gate.
func (t *trial) letGo(g *hal.Gate) { t.must(g.Signal(), "open gate") }

// sync waits for a stream.
func (t *trial) sync(streams ...*hal.Stream) {
	for _, s := range streams {
		t.must(s.Sync(t.ctx), "sync")
	}
}

// put writes b to the memory and waits until it has arrived.
func (t *trial) put(m *hal.Memory, off int, b []byte) {
	t.must(m.Device().Write(t.ctx, m.Region(uint64(off), uint64(len(b))), b), "write %d bytes at %d", len(b), off)
}

// get reads n bytes of the memory.
func (t *trial) get(m *hal.Memory, off, n int) []byte {
	b := make([]byte, n)
	t.must(m.Device().Read(t.ctx, b, m.Region(uint64(off), uint64(n))), "read %d bytes at %d", n, off)
	return b
}

// all reads the whole memory.
func (t *trial) all(m *hal.Memory) []byte { return t.get(m, 0, int(m.Size())) }

// region is m.Region with ints.
func region(m *hal.Memory, off, n int) hal.Region { return m.Region(uint64(off), uint64(n)) }

// onHost runs fn on the bytes of memory: on a copy, which is written back, if the host cannot access page-locked memory.
func (t *trial) onHost(m *hal.Memory, fn func(b []byte)) {
	if m.Kind() == hal.KindHost && m.HostPointer() == nil {
		b := t.all(m)
		fn(b)
		t.put(m, 0, b)
		return
	}
	b, err := m.Bytes()
	t.must(err, "host view of %v memory", m.Kind())
	fn(b)
}

// bytesOf returns the bytes of page-locked memory. The check is skipped if the host cannot access it.
func (t *trial) bytesOf(m *hal.Memory) []byte {
	b, err := m.Bytes()
	if errors.Is(err, hal.ErrUnsupported) {
		t.Skipf("the host cannot access page-locked memory of the device")
	}
	t.must(err, "host view of page-locked memory")
	return b
}

// hostBytes returns n zeroed bytes of host memory that copies of the device access in stream order without blocking the caller. They
// are page-locked if the device does not have CapOrderedPageable and the host can access them.
func (t *trial) hostBytes(n int) []byte {
	if !t.dev.Caps().Has(hal.CapOrderedPageable) {
		m := t.memory(t.dev, hal.KindHost, n)
		if b, err := m.Bytes(); err == nil {
			clear(b)
			return b
		}
	}
	return make([]byte, n)
}

// same fails unless got and want are equal. The failure shows the first difference.
func (t *trial) same(got, want []byte, what string, args ...any) {
	if diff := difference(got, want); diff != "" {
		t.Errorf("%s: %s", fmt.Sprintf(what, args...), diff)
	}
}

// refuses fails unless call gives an error of the kind and changes neither the memories nor what
// their devices hold.
func (t *trial) refuses(kind error, what string, call func() error, keep ...*hal.Memory) {
	before := make([][]byte, len(keep))
	for i, m := range keep {
		before[i] = t.all(m)
	}
	usage := t.usage(keep...)
	t.wantKind(call(), kind, "%s", what)
	after := t.usage(keep...)
	for d, u := range usage {
		if after[d] != u {
			t.Errorf("%s: usage changed from %+v to %+v", what, u, after[d])
		}
	}
	for i, m := range keep {
		t.same(t.all(m), before[i], "%s: contents of memory %d changed", what, i)
	}
}

// usage returns the usage of the device under test and of the devices of mems. It clears Pending, which changes in the background.
func (t *trial) usage(mems ...*hal.Memory) map[*hal.Device]hal.Usage {
	u := map[*hal.Device]hal.Usage{t.dev: t.dev.Usage()}
	for _, m := range mems {
		u[m.Device()] = m.Device().Usage()
	}
	for d, x := range u {
		x.Pending = 0
		u[d] = x
	}
	return u
}

// query is a stream or an event.
type query interface{ Done() (bool, error) }

// idle fails unless the work is done.
func (t *trial) idle(q query, what string, args ...any) {
	done, err := q.Done()
	t.must(err, what, args...)
	t.want(done, "%s: not done", fmt.Sprintf(what, args...))
}

const (
	busyPolls = 64
	busyFor   = time.Millisecond
)

// remains fails if cond is false at one of at least busyPolls polls over at least busyFor.
func (t *trial) remains(cond func() bool, what string, args ...any) {
	start := time.Now()
	for i := 0; i < busyPolls || time.Since(start) < busyFor; i++ {
		t.want(cond(), "no longer: "+what, args...)
		runtime.Gosched()
	}
}

// busy fails if the work gets done although a gate holds it back. It polls for a while, so that errors in the background have time
// to show.
func (t *trial) busy(q query, what string, args ...any) {
	t.remains(func() bool {
		done, err := q.Done()
		t.must(err, what, args...)
		return !done
	}, "held back by a shut gate: "+what, args...)
}

// eventually waits until cond holds.
func (t *trial) eventually(cond func() bool, what string, args ...any) {
	tick := time.NewTicker(100 * time.Microsecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-t.ctx.Done():
			t.Fatalf("never: %s", fmt.Sprintf(what, args...))
		case <-tick.C:
		}
	}
}

// arrives waits until the channel gives a value or is closed.
func arrives[V any](t *trial, ch <-chan V, what string) (v V) {
	select {
	case v = <-ch:
	case <-t.ctx.Done():
		t.Fatalf("never: %s", what)
	}
	return v
}

// together runs fn(0) to fn(n-1) at once and waits for all of them. fn may end its goroutine with
// Fatalf.
func (t *trial) together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { t.guard(func() { fn(i) }) })
	}
	wg.Wait()
	t.mu.Lock()
	failed := t.failed
	t.mu.Unlock()
	if failed {
		t.FailNow()
	}
}
