package host_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal/driver"
)

// functions loads Go functions, and returns what launches one of them on a stream.
func functions(t testing.TB, d driver.Device, all map[string]driver.Function) func(s driver.Stream, name string, threads uint32, args ...driver.Arg) {
	t.Helper()
	m, err := d.(driver.Loader).Load(&driver.Image{Format: driver.FormatGo, Functions: all})
	check(t, err)
	return func(s driver.Stream, name string, threads uint32, args ...driver.Arg) {
		t.Helper()
		k, err := m.Kernel(name)
		check(t, err)
		check(t, s.(driver.Launcher).Launch(k, &driver.Launch{Grid: [3]uint32{threads, 1, 1}, Block: [3]uint32{1, 1, 1}, Args: args}))
	}
}

func whole(size uint32, v uint64) driver.Arg {
	a := driver.Arg{Kind: driver.ParamValue, Size: size}
	if size == 4 {
		*(*uint32)(unsafe.Pointer(&a.Bits)) = uint32(v)
	} else {
		a.Bits[0] = v
	}
	return a
}

// caller says whether a function runs on the goroutine that launched it, from the stack of that goroutine.
func caller() bool {
	stack := make([]byte, 1<<14)
	return strings.Contains(string(stack[:runtime.Stack(stack, false)]), "host_test.functions.func")
}

// A small launch on a stream that has nothing to do has run when Launch returns, on the caller's goroutine. All others are queued.
func TestSmallLaunches(t *testing.T) {
	d := open(t, host.Options{}, 0)
	for _, c := range []struct {
		name    string
		steps   []uint32
		threads uint32
		args    []driver.Arg
		here    bool
	}{
		{"one step", []uint32{1}, 1, nil, true},
		{"many threads", []uint32{1}, 20000, nil, true},
		{"as many for which nothing is known", []uint32{1}, 20001, nil, false},
		{"too many threads", []uint32{1}, 1<<15 + 1, nil, false},
		{"too many steps", []uint32{3}, 10000, nil, false},
		{"not known", nil, 1, nil, false},
		{"a loop", []uint32{5, 0, 10}, 10, []driver.Arg{whole(4, 1<<31), whole(4, 100)}, true},
		{"a long loop", []uint32{5, 0, 10}, 10, []driver.Arg{whole(4, 1), whole(4, 2000)}, false},
		{"a loop of 64 bits", []uint32{1, 1}, 1, []driver.Arg{whole(8, 10)}, true},
		{"the largest number", []uint32{1, math.MaxUint32}, 1, []driver.Arg{whole(8, math.MaxUint64)}, false},
		{"a product that wraps around", []uint32{1, 2}, 1, []driver.Arg{whole(8, 1<<63)}, false},
		{"steps whose product with the threads wraps around", append([]uint32{0}, slices.Repeat([]uint32{1 << 31}, 32)...), 1 << 14,
			slices.Repeat([]driver.Arg{whole(8, 1<<14)}, 32), false},
		{"a negative number", []uint32{1, 1}, 1, []driver.Arg{whole(4, math.MaxUint64)}, false},
		{"an argument that is not there", []uint32{1, 1}, 1, nil, false},
		{"an argument that is no number", []uint32{1, 1}, 1, []driver.Arg{{Kind: driver.ParamPointer, Size: 8}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStream(t, d)
			var here []bool
			launch := functions(t, d, map[string]driver.Function{"f": {Steps: c.steps, Run: func(b *driver.Block) {
				if b.Index[0] == 0 {
					here = append(here, caller())
				}
			}}})
			launch(s, "f", c.threads, c.args...)
			if c.here {
				want(t, "done", streamDone(t, s), true)
			}
			check(t, s.Sync())
			want(t, "on the caller's goroutine", fmt.Sprint(here), fmt.Sprint([]bool{c.here}))
		})
	}
}

// Launches of more steps are the caller's if those before them were short, and no longer when one was not. Time passes here only in Sleep.
func TestLaunchesAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, host.Options{}, 0)
		s := newStream(t, d)
		here, takes := false, time.Duration(0)
		launch := functions(t, d, map[string]driver.Function{
			"f":     {Steps: []uint32{100000}, Run: func(*driver.Block) { here = caller(); time.Sleep(takes) }},
			"large": {Steps: []uint32{400001}, Run: func(*driver.Block) { here = caller() }},
		})
		for range 40 { // until the first guess is forgotten
			launch(s, "f", 1)
			check(t, s.Sync())
		}
		want(t, "on the caller's goroutine after fast ones", here, true)
		takes = time.Millisecond
		launch(s, "f", 1)
		check(t, s.Sync())
		takes = 0
		launch(s, "f", 1)
		check(t, s.Sync())
		want(t, "on the caller's goroutine after a slow one", here, false)
		for range 100 {
			launch(s, "large", 1)
			check(t, s.Sync())
			want(t, "on the caller's goroutine", here, false)
		}
	})
}

// A small launch waits in the queue if something is before it.
func TestSmallLaunchOnABusyStream(t *testing.T) {
	d := open(t, host.Options{}, 0)
	s := newStream(t, d)
	ran := false
	launch := functions(t, d, map[string]driver.Function{"f": {Steps: []uint32{1}, Run: func(*driver.Block) { ran = true }}})
	openGate := shut(t, s)
	launch(s, "f", 1)
	want(t, "done behind a gate", streamDone(t, s), false)
	openGate()
	check(t, s.Sync())
	want(t, "ran", ran, true)
}

// What is enqueued while a small launch runs comes after it, in order. The function here enqueues it, as other goroutines may.
func TestWorkBehindASmallLaunch(t *testing.T) {
	d := open(t, host.Options{}, 0)
	s := newStream(t, d)
	var order []string
	called := make(chan bool)
	note := func(what string) func(*driver.Block) { return func(*driver.Block) { order = append(order, what) } }
	var launch func(s driver.Stream, name string, threads uint32, args ...driver.Arg)
	e := newEvent(t, d, false)
	launch = functions(t, d, map[string]driver.Function{
		"first": {Steps: []uint32{1}, Run: func(*driver.Block) {
			launch(s, "second", 1)
			check(t, s.(driver.Notifier).OnDone(func() { called <- true }))
			launch(s, "third", 1)
			check(t, s.Record(e))
			want(t, "an event behind it", eventDone(t, e), false)
			order = append(order, "first")
		}},
		"second": {Steps: []uint32{1}, Run: note("second")},
		"third":  {Run: note("third")},
	})
	launch(s, "first", 1)
	<-called
	check(t, e.Sync())
	want(t, "order", fmt.Sprint(order), "[first second third]")
	launch(s, "second", 1)
	want(t, "done at once, as the queue is empty again", streamDone(t, s), true)
}

// The failure of a small launch is the stream's, as that of another, and the stream goes on.
func TestSmallLaunchThatFails(t *testing.T) {
	d := open(t, host.Options{}, 0)
	s := newStream(t, d)
	launch := functions(t, d, map[string]driver.Function{
		"panics": {Steps: []uint32{1}, Run: func(*driver.Block) { panic("no") }},
		"ends":   {Steps: []uint32{1}, Run: func(*driver.Block) { runtime.Goexit() }}, // which it must not; only its caller ends
		"works":  {Steps: []uint32{1}, Run: func(*driver.Block) {}},
	})
	for _, name := range []string{"panics", "ends"} {
		ended := make(chan bool)
		go func() {
			defer close(ended)
			launch(s, name, 3)
		}()
		<-ended
		want(t, name+": done", s.Sync() != nil, true)
		launch(s, "works", 1)
		check(t, s.Sync())
	}
}

// A function that ends its goroutine does not stop the queue.
func TestQueueGoesOnAfterGoexit(t *testing.T) {
	d := open(t, host.Options{}, 0)
	s := newStream(t, d)
	var ran []uint32
	launch := functions(t, d, map[string]driver.Function{
		"ends":  {Run: func(*driver.Block) { runtime.Goexit() }},
		"works": {Run: func(b *driver.Block) { ran = append(ran, b.Grid[0]) }},
	})
	openGate := shut(t, s)
	launch(s, "ends", 1)
	launch(s, "works", 1)
	launch(s, "ends", 100)
	openGate()
	wantKind(t, s.Sync(), driver.ErrKernel)
	launch(s, "works", 1)
	check(t, s.Sync())
	want(t, "launches that worked", slices.Equal(ran, []uint32{1, 1}), true)
}

// After a function has ended its goroutine, nothing runs beside a small launch.
func TestSmallLaunchAfterGoexit(t *testing.T) {
	d := open(t, host.Options{}, 0)
	s := newStream(t, d)
	var small, later atomic.Bool
	var launch func(s driver.Stream, name string, threads uint32, args ...driver.Arg)
	launch = functions(t, d, map[string]driver.Function{
		"ends": {Run: func(*driver.Block) { runtime.Goexit() }},
		"small": {Steps: []uint32{1}, Run: func(*driver.Block) {
			small.Store(true)
			runtime.Gosched()
			launch(s, "later", 1)
			for range 10 {
				runtime.Gosched()
			}
			small.Store(false)
		}},
		"later": {Run: func(*driver.Block) { later.Store(later.Load() || small.Load()) }},
	})
	for range 500 {
		launch(s, "ends", 1)
		for done := false; !done; done, _ = s.Query() {
		}
		launch(s, "small", 1)
		check(t, s.Sync())
	}
	want(t, "a later launch ran beside it", later.Load(), false)
}

// Goroutines go from launch to launch, also of other streams. Each block runs once, and a launch whose function ends its goroutine takes none from the next.
func TestLaunchesOfManyStreams(t *testing.T) {
	d := open(t, host.Options{}, 0)
	const streams, launches, blocks = 8, 100, 20
	var ran [streams][launches * blocks]atomic.Int32
	launch := functions(t, d, map[string]driver.Function{
		"counts": {Run: func(b *driver.Block) {
			ran[b.Args[0].Bits[0]][b.Args[1].Bits[0]*blocks+uint64(b.Index[0])].Add(1)
		}},
		"ends": {Run: func(*driver.Block) { runtime.Goexit() }},
	})
	var working sync.WaitGroup
	for i := range uint64(streams) {
		s := newStream(t, d)
		working.Go(func() {
			for n := range uint64(launches) {
				launch(s, "counts", blocks, whole(8, i), whole(8, n))
				if n%10 == 9 {
					assert.NoError(t, s.Sync())
					launch(s, "ends", blocks)
					assert.ErrorIs(t, s.Sync(), driver.ErrKernel)
				}
			}
		})
	}
	working.Wait()
	for i := range ran {
		for n := range ran[i] {
			want(t, fmt.Sprintf("runs of block %d of stream %d", n, i), ran[i][n].Load(), 1)
		}
	}
}
