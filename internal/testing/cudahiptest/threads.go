package cudahiptest

import (
	"bytes"
	"runtime"
	"sync"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

func manyGoroutines(h *Harness, t *testing.T) {
	h.reset(t, 21)
	const goroutines, rounds, size = 300, 4, 500
	devices := []driver.Device{h.open(t, 0), h.open(t, min(1, h.count-1))}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			d := devices[g%7%2] // most of them on one device
			if err := oneGoroutine(d, uint64(g), rounds, size); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func oneGoroutine(d driver.Device, seed uint64, rounds, size int) error {
	s, err := d.NewStream(driver.StreamOptions{})
	if err != nil {
		return err
	}
	m, err := d.Alloc(driver.KindDevice, uint64(size), 0)
	if err != nil {
		return err
	}
	ev, err := d.NewEvent(driver.EventOptions{})
	if err != nil {
		return err
	}
	out := make([]byte, size)
	for r := range rounds {
		want := random(seed+uint64(r)<<9, size)
		runtime.Gosched()
		if err := s.CopyIn(whole(m), at(want)); err != nil {
			return err
		}
		if err := s.Record(ev); err != nil {
			return err
		}
		runtime.Gosched()
		if err := s.CopyOut(at(out), whole(m)); err != nil {
			return err
		}
		if err := ev.Sync(); err != nil {
			return err
		}
		if err := s.Sync(); err != nil {
			return err
		}
		if !bytes.Equal(out, want) {
			return &driver.Error{Op: "goroutine", Kind: driver.ErrDriver, Detail: "wrong bytes"}
		}
	}
	if err := ev.Close(); err != nil {
		return err
	}
	if err := m.Free(); err != nil {
		return err
	}
	return s.Close()
}

func blockedSync(h *Harness, t *testing.T) {
	h.reset(t, 23)
	d := h.open(t, 0)
	shut, other := newStream(t, d), newStream(t, d)
	g, err := shut.(driver.Gater).Gate()
	ok(t, err)
	ev := newEvent(t, d, false)
	ok(t, shut.Record(ev))
	blocked := make(chan error, 2)
	go func() { blocked <- shut.Sync() }()
	go func() { blocked <- ev.Sync() }()
	for i := range uint64(20) {
		m, err := d.Alloc(driver.KindDevice, 1000, 0)
		ok(t, err)
		defer func() { ok(t, m.Free()) }() // which would wait for the gate
		want := random(i, 1000)
		write(t, other, whole(m), want)
		same(t, "beside a blocked sync", read(t, other, whole(m)), want)
		ok(t, shut.Record(ev)) // the blocked stream takes work, too
	}
	select {
	case err := <-blocked:
		t.Fatalf("a sync returned with the gate shut: %v", err)
	default:
	}
	ok(t, g.Open())
	ok(t, <-blocked)
	ok(t, <-blocked)
}
