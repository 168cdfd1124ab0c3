package host_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

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

// Nothing passes a shut gate, however small; everything passes an open one in order.
func TestGate(t *testing.T) {
	d := open(t, host.Options{}, 0)
	s, m := newStream(t, d), alloc(t, d, driver.KindDevice, 4)
	before := put(t, d, m, 1)
	openGate := shut(t, s)
	after := counting(4, 50)
	check(t, s.Fill(all(m), driver.Pattern{Bits: 99, Width: 1}))
	check(t, s.Copy(at(m, 0, 1), at(m, 3, 1)))
	check(t, s.CopyIn(at(m, 1, 3), pointer(after[1:])))
	after[0] = 99
	e := newEvent(t, d, false)
	check(t, s.Record(e))
	want(t, "stream done", streamDone(t, s), false)
	want(t, "event done", eventDone(t, e), false)
	wantBytes(t, "behind a shut gate", contents(t, d, m), before)
	openGate()
	check(t, e.Sync())
	wantBytes(t, "behind an open gate", contents(t, d, m), after)

	g, err := s.(driver.Gater).Gate()
	check(t, err)
	check(t, g.Open())
	check(t, s.Sync())
	want(t, "done", streamDone(t, s), true)
}

func TestBurstBehindAGate(t *testing.T) {
	d := open(t, host.Options{Discrete: 1}, 1)
	s := newStream(t, d)
	const n = 10_000
	// Each step depends on the one before: a value goes from cell to cell.
	m := alloc(t, d, driver.KindDevice, 4*(n+1))
	openGate := shut(t, s)
	value := uint32(0xDECADE)
	check(t, s.CopyIn(at(m, 0, 4), unsafe.Pointer(&value)))
	for i := range uint64(n) {
		check(t, s.Copy(at(m, 4*(i+1), 4), at(m, 4*i, 4)))
	}
	want(t, "done", streamDone(t, s), false)
	openGate()
	var last uint32
	check(t, s.CopyOut(unsafe.Pointer(&last), at(m, 4*n, 4)))
	check(t, s.Sync())
	want(t, "last cell", last, value)
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

func TestBlockedSyncBlocksNobodyElse(t *testing.T) {
	d := open(t, host.Options{}, 0)
	blocked, free := newStream(t, d), newStream(t, d)
	m := alloc(t, d, driver.KindDevice, 1<<20)
	openGate := shut(t, blocked)
	var syncs sync.WaitGroup
	for range 8 {
		syncs.Go(func() {
			if err := blocked.Sync(); err != nil {
				t.Error(err)
			}
		})
	}
	data := put(t, d, m, 9)
	check(t, free.Sync())
	want(t, "done", streamDone(t, blocked), false)
	back := make([]byte, 1<<20)
	check(t, blocked.CopyOut(pointer(back), all(m)))
	openGate()
	syncs.Wait()
	check(t, blocked.Sync())
	wantBytes(t, "copy", back, data)
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

func TestFill(t *testing.T) {
	d := open(t, host.Options{Discrete: 1}, 1)
	s := newStream(t, d)
	for _, width := range []uint8{1, 2, 4, 8} {
		for _, size := range []uint64{8, 24, 4096, 40 << 10, 5<<20 + 64} {
			m := alloc(t, d, driver.KindDevice, size+16)
			expected := put(t, d, m, 1)
			const bits = 0x8877665544332211
			check(t, s.Fill(at(m, 8, size), driver.Pattern{Bits: bits, Width: width}))
			check(t, s.Sync())
			for i := range size {
				expected[8+i] = byte(uint64(bits) >> (8 * (i % uint64(width))))
			}
			wantBytes(t, fmt.Sprintf("width %d, %d bytes", width, size), contents(t, d, m), expected)
		}
	}
}

func TestCall(t *testing.T) {
	d := open(t, host.Options{}, 0)
	s := newStream(t, d)
	openGate := shut(t, s)
	called, release := make(chan bool), make(chan struct{})
	returned := make(chan struct{})
	check(t, s.(driver.Notifier).OnDone(func() {
		defer close(returned)
		done, err := s.Query() // may call the backend
		called <- done && err == nil
		<-release // may block
	}))
	select {
	case <-called:
		t.Fatal("called behind a shut gate")
	default:
	}
	openGate()
	check(t, s.Sync()) // later work does not wait for it
	want(t, "called", <-called, true)
	close(release)
	<-returned

	check(t, s.(driver.Notifier).OnDone(func() { called <- true }))
	want(t, "called on an idle stream", <-called, true)
	wantKind(t, s.(driver.Notifier).OnDone(nil), driver.ErrInvalidArgument)
}

// Objects of another backend are refused.
func TestForeignObjects(t *testing.T) {
	d := open(t, host.Options{}, 0)
	s, e, m := newStream(t, d), newEvent(t, d, true), alloc(t, d, driver.KindDevice, 8)
	type foreignEvent struct{ driver.Event }
	type foreignMemory struct{ driver.Memory }
	bad := driver.Region{Mem: foreignMemory{}, Len: 8}
	var b [8]byte
	before := contents(t, d, m)
	for name, call := range map[string]func() error{
		"copy to":   func() error { return s.Copy(bad, all(m)) },
		"copy from": func() error { return s.Copy(all(m), bad) },
		"copy in":   func() error { return s.CopyIn(bad, pointer(b[:])) },
		"copy out":  func() error { return s.CopyOut(pointer(b[:]), bad) },
		"fill":      func() error { return s.Fill(bad, driver.Pattern{Width: 1}) },
		"record":    func() error { return s.Record(foreignEvent{}) },
		"wait":      func() error { return s.Wait(foreignEvent{}) },
		"free":      func() error { return s.(driver.StreamAllocator).FreeAsync(foreignMemory{}) },
		"elapsed":   func() error { _, err := e.(driver.Timer).Elapsed(foreignEvent{}); return err },
	} {
		t.Run(name, func(t *testing.T) { wantKind(t, call(), driver.ErrWrongDevice) })
	}
	wantBytes(t, "after refused calls", contents(t, d, m), before)
}

// The queue keeps memory of the Go heap alive that nobody else refers to.
func TestQueuedCopyKeepsGoMemory(t *testing.T) {
	d := open(t, host.Options{Discrete: 1}, 1)
	s, m := newStream(t, d), alloc(t, d, driver.KindDevice, 1<<20)
	openGate := shut(t, s)
	check(t, s.CopyIn(all(m), pointer(counting(1<<20, 3))))
	for range 3 {
		runtime.GC()
		_ = counting(1<<20, 200)
	}
	openGate()
	check(t, s.Sync())
	wantBytes(t, "copy", contents(t, d, m), counting(1<<20, 3))
}

func TestManyGoroutines(t *testing.T) {
	d := open(t, host.Options{Discrete: 1}, 1)
	s := newStream(t, d)
	for g := range 8 {
		t.Run(fmt.Sprint(g), func(t *testing.T) {
			t.Parallel()
			m, e := alloc(t, d, driver.KindDevice, 64<<10), newEvent(t, d, g%2 == 0)
			for round := range 50 {
				data := counting(64<<10, byte(g+round))
				back := make([]byte, 64<<10)
				check(t, s.CopyIn(all(m), pointer(data)))
				check(t, s.CopyOut(pointer(back), all(m)))
				check(t, s.Record(e))
				check(t, s.Wait(e))
				check(t, e.Sync())
				wantBytes(t, "copy", back, data)
			}
		})
	}
}
