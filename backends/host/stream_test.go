package host_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal/driver"
)

// Operations that the caller does at once and those that wait in the queue keep one
// order, at whatever size the change-over is.
func TestInlineAndQueuedKeepOrder(t *testing.T) {
	d := open(t, host.Options{Discrete: 1}, 1)
	s := newStream(t, d)
	for _, size := range []uint64{1, 32 << 10, 32<<10 + 1, 100 << 10, 2 << 20} {
		m, back := alloc(t, d, driver.KindDevice, size), make([]byte, size)
		for round := range 50 {
			first, second := counting(size, byte(round)), counting(size, byte(round+100))
			check(t, s.CopyIn(all(m), pointer(first)))
			check(t, s.CopyIn(at(m, 0, 1), pointer(second)))
			check(t, s.CopyOut(pointer(back), all(m)))
			check(t, s.Fill(at(m, 0, 1), driver.Pattern{Width: 1}))
			check(t, s.Sync())
			first[0] = second[0]
			wantBytes(t, fmt.Sprintf("%d bytes, round %d", size, round), back, first)
			if size > 1<<20 && round == 4 {
				break
			}
		}
	}
}

// Streams that have nothing to do, or wait, own no goroutine.
func TestHeldUpStreamsOwnNoGoroutine(t *testing.T) {
	d := open(t, host.Options{}, 0)
	first := newStream(t, d)
	openGate := shut(t, first)
	e := newEvent(t, d, false)
	check(t, first.Record(e))
	base := runtime.NumGoroutine()
	var waiting []driver.Stream
	for range 100 {
		s := newStream(t, d)
		check(t, s.Wait(e))
		waiting = append(waiting, s)
	}
	eventually(t, "goroutines go", func() bool { return runtime.NumGoroutine() <= base })
	for _, s := range waiting {
		want(t, "done", streamDone(t, s), false)
	}
	openGate()
	for _, s := range waiting {
		check(t, s.Sync())
	}
}

// eventually gives way to other goroutines until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal(what + ": not in 10 s")
		}
	}
}

func TestOverlap(t *testing.T) {
	d := open(t, host.Options{}, 0)
	s := newStream(t, d)
	for _, size := range []uint64{100, 17 << 20} {
		mem := counting(size+64, 1)
		whole, err := d.(driver.Registerer).Register(pointer(mem), size+64)
		check(t, err)
		expected := counting(size+64, 1)
		for range 3 { // so that copies in pieces are among them
			copy(expected[64:], expected[:size])
			check(t, s.CopyIn(at(whole, 64, size), pointer(mem)))
			check(t, s.Sync())
			wantBytes(t, "forward", mem, expected)
			copy(expected, expected[64:])
			check(t, s.CopyOut(pointer(mem), at(whole, 64, size)))
			check(t, s.Sync())
			wantBytes(t, "backward", mem, expected)
		}
		check(t, whole.Free())
	}
}
