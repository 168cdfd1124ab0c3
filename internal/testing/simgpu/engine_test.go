package simgpu

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

// A correct program is right under every seed: three streams, events between
// them, pinned memory at both ends.
func orderedProgram(v *vendor) (want, got []byte) {
	const n = 1000
	a, b := v.alloc(n), v.alloc(n)
	in, out := v.pinned(n), v.pinned(n)
	copy(in, pattern(n, 5))
	s1, s2, s3 := v.stream(), v.stream(), v.stream()
	e1, e2 := v.event(2), v.event(2)
	require.Zero(v.t, v.h2d(a, in, s1))
	require.Zero(v.t, v.record(e1, s1))
	require.Zero(v.t, v.wait(s2, e1))
	require.Zero(v.t, v.fill(b, 9, n, s2))
	require.Zero(v.t, v.d2d(b, a, n/2, s2))
	require.Zero(v.t, v.record(e2, s2))
	require.Zero(v.t, v.wait(s3, e2))
	require.Zero(v.t, v.d2h(out, b, s3))
	require.Zero(v.t, v.sync(s3))
	want = append(bytes.Clone(in[:n/2]), bytes.Repeat([]byte{9}, n/2)...)
	got = bytes.Clone(out)
	for _, e := range []uintptr{e1, e2} {
		v.endEvent(e)
	}
	for _, s := range []uintptr{s1, s2, s3} {
		v.endStream(s)
	}
	v.free(a)
	v.free(b)
	v.unpin(in)
	v.unpin(out)
	return want, got
}

// The same with one event wait forgotten: the validator sees it under every seed,
// and some seeds show a wrong byte.
func TestMissingEventWaitIsSeen(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		wrong := 0
		for seed := uint64(1); seed <= 60; seed++ {
			v.restart(seed)
			a := v.alloc(256)
			in, out := v.pinned(256), v.pinned(256)
			copy(in, pattern(256, 1))
			s1, s2 := v.stream(), v.stream()
			require.Zero(t, v.h2d(a, in, s1))
			require.Zero(t, v.d2h(out, a, s2))
			require.Zero(t, v.sync(s1))
			require.Zero(t, v.sync(s2))
			if !bytes.Equal(in, out) {
				wrong++
			}
			v.violates("race", "not ordered")
		}
		require.Greater(t, wrong, 5)
		require.Less(t, wrong, 60)
	})
}

func TestMissingHostWaitIsAWrongByte(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		late, early := 0, 0
		for seed := uint64(1); seed <= 40; seed++ {
			v.restart(seed)
			a, s := v.alloc(64), v.stream()
			in, out := v.pinned(64), v.pinned(64)
			copy(in, pattern(64, 1))
			require.Zero(t, v.h2d(a, in, s))
			require.Zero(t, v.d2h(out, a, s))
			if !bytes.Equal(out, in) {
				late++ // read before the copy
			}
			require.NotZero(t, v.HostAccess(unsafe.Pointer(&out[0]), 64, false))
			v.Clear()
			require.NotZero(t, v.HostAccess(unsafe.Pointer(&in[0]), 64, true))
			v.Clear()
			in[0]++ // changed before it was read
			require.Zero(t, v.sync(s))
			if out[0] != pattern(64, 1)[0] {
				early++
			}
			require.Zero(t, v.HostAccess(unsafe.Pointer(&out[0]), 64, false))
			require.Zero(t, v.HostAccess(unsafe.Pointer(&in[0]), 64, true))
			v.Clear()
		}
		require.Greater(t, late, 10)
		require.Greater(t, early, 10)
	})
}

func TestPageableMemoryIsStagedAndAwaited(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(30) {
			v.restart(seed)
			a, s := v.alloc(100), v.stream()
			b := pattern(100, 3)
			require.Zero(t, v.h2d(a, b, s))
			clear(b) // staged before the call returned
			require.Zero(t, v.d2h(b, a, s))
			require.Equal(t, pattern(100, 3), b)
		}
	})
}

func TestNewMemoryIsPoisoned(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		a, s := v.alloc(8192), v.stream()
		got := make([]byte, 8192)
		require.Zero(t, v.d2h(got, a, s))
		require.NotContains(t, got, byte(0))
		require.NotContains(t, v.pinned(100), byte(0))
		require.NotContains(t, v.managed(100), byte(0))
	})
}

func TestDeviceMemoryIsOutOfReachOfTheHost(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		a := v.alloc(64)
		require.Zero(t, a%512)
		require.NotZero(t, a%1024, "no better aligned than promised")
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			fault, isFault := recover().(interface{ Addr() uintptr })
			require.True(t, isFault)
			require.Equal(t, a, fault.Addr())
		}()
		t.Error("the host read ", *(*byte)(dl.Pointer(a)))
	})
}

func TestFreedAddressesAreNotReused(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		seen := map[uintptr]bool{}
		s := v.stream()
		for range 200 {
			a := v.alloc(5000)
			require.False(t, seen[a])
			seen[a] = true
			v.free(a)
			require.NotZero(t, v.fill(a, 1, 10, s))
			v.violates("freed")
			require.NotZero(t, v.tryFree(a))
			v.violates("twice")
		}
		p := v.pinned(100)
		v.unpin(p)
		require.NotZero(t, v.call(v.pick("cuMemFreeHost", "hipHostFree"), v.address(p)))
		v.violates("twice")
	})
}

func TestMemoryLimit(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		require.NoError(t, v.Set(Memory, 1<<20))
		require.NoError(t, v.Set(HostMemory, 1<<20))
		v.restart(0)
		free, total := v.memInfo()
		require.Equal(t, [2]uint64{1 << 20, 1 << 20}, [2]uint64{free, total})
		_, code := v.tryAlloc(1<<20 + 1)
		require.Equal(t, 2, code)
		_, code = v.tryAlloc(1 << 62)
		require.Equal(t, 2, code)
		// In total this allocates many times the limit: freed memory can be allocated again.
		for range 60 {
			a := v.alloc(1 << 20)
			_, code = v.tryAlloc(1)
			require.Equal(t, 2, code)
			free, _ = v.memInfo()
			require.Zero(t, free)
			v.free(a)
		}
		p := v.pinned(1 << 20)
		var q uintptr
		require.Equal(t, 2, v.call(v.pick("cuMemHostAlloc", "hipHostMalloc"), uintptr(unsafe.Pointer(&q)), 1, 1))
		v.unpin(p)
		free, _ = v.memInfo()
		require.EqualValues(t, 1<<20, free)
		v.silent()
	})
}

func TestStreamOrderedMemory(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(30) {
			require.NoError(t, v.Set(Memory, 1<<20))
			v.restart(seed)
			s, other := v.stream(), v.stream()
			// Each fits only because the one before is freed on the stream before it.
			for i := range 20 {
				a, code := v.allocAsync(700<<10, s)
				require.Zero(t, code)
				require.Zero(t, v.fill(a, byte(i), 100, s))
				require.Zero(t, v.freeAsync(a, s))
				require.NotZero(t, v.fill(a, 1, 1, s))
				v.violates("freed")
			}
			require.Zero(t, v.sync(s))
			require.Empty(t, v.Violations())
			a, code := v.allocAsync(1000, s)
			require.Zero(t, code)
			require.Zero(t, v.fill(a, 1, 1000, other)) // the other stream knows nothing of the allocation
			require.Zero(t, v.sync(other))
			require.Zero(t, v.sync(s))
			v.violates("race")
			require.Zero(t, v.freeAsync(a, s))
			require.Zero(t, v.sync(s))
			// The free waits behind a gate, but a later allocation of the same stream may use the
			// memory.
			word := v.pinned(8)
			clear(word)
			a, code = v.allocAsync(900<<10, s)
			require.Zero(t, code)
			require.Zero(t, v.gate(s, word))
			require.Zero(t, v.freeAsync(a, s))
			_, code = v.allocAsync(900<<10, other)
			require.Equal(t, 2, code)
			a, code = v.allocAsync(900<<10, s)
			require.Zero(t, code)
			require.Zero(t, v.freeAsync(a, s))
			(*atomic.Uint32)(unsafe.Pointer(&word[0])).Store(1)
			require.Zero(t, v.sync(s))
			v.unpin(word)
			free, _ := v.memInfo()
			require.EqualValues(t, 1<<20, free)
			b := v.alloc(64)
			require.NotZero(t, v.freeAsync(b, s))
			v.violates("not stream-ordered")
			require.Zero(t, v.tryFree(b))
			v.endStream(s)
			v.endStream(other)
			v.end()
			v.silent()
			require.Empty(t, v.Leaks())
		}
	})
}

func TestValidatorReports(t *testing.T) {
	type program struct {
		name  string
		words []string
		run   func(v *vendor, a, b, s, other uintptr)
	}
	for _, p := range []program{
		{"OutOfBounds", []string{"out of bounds"}, func(v *vendor, a, b, s, other uintptr) {
			require.Equal(v.t, 1, v.fill(a, 1, 101, s))
		}},
		{"OutOfBoundsFromInside", []string{"out of bounds"}, func(v *vendor, a, b, s, other uintptr) {
			require.Equal(v.t, 1, v.d2d(a+60, b, 60, s))
		}},
		{"NotAllocated", []string{"not allocated"}, func(v *vendor, a, b, s, other uintptr) {
			require.Equal(v.t, 1, v.fill(b+100, 1, 1, s))
		}},
		{"Foreign", []string{"does not know"}, func(v *vendor, a, b, s, other uintptr) {
			require.Equal(v.t, 1, v.fill(v.address(make([]byte, 64)), 1, 64, s))
		}},
		{"FreeForeign", []string{"not"}, func(v *vendor, a, b, s, other uintptr) {
			require.Equal(v.t, 1, v.tryFree(12345))
		}},
		{"FreeInside", []string{"inside"}, func(v *vendor, a, b, s, other uintptr) {
			require.Equal(v.t, 1, v.tryFree(a+8))
		}},
		{"SwappedDirection", []string{"host pointer belongs"}, func(v *vendor, a, b, s, other uintptr) {
			require.Equal(v.t, 1, v.call(v.pick("cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync"), a, b, 10, s))
		}},
		{"SwappedArguments", []string{"host pointer belongs"}, func(v *vendor, a, b, s, other uintptr) {
			mem := v.pinned(64)
			require.Equal(v.t, 1, v.call(v.pick("cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync"), a, v.address(mem), 64, s))
		}},
		{"Overlap", []string{"overlap"}, func(v *vendor, a, b, s, other uintptr) {
			require.Zero(v.t, v.d2d(a, a+10, 20, s))
			require.Zero(v.t, v.sync(s))
		}},
		{"DestroyedStream", []string{"destroyed stream"}, func(v *vendor, a, b, s, other uintptr) {
			v.endStream(s)
			require.NotZero(v.t, v.fill(a, 1, 1, s))
		}},
		{"UnknownStream", []string{"unknown stream"}, func(v *vendor, a, b, s, other uintptr) {
			require.NotZero(v.t, v.sync(0x5555))
		}},
		{"EventAsStream", []string{"destroyed stream"}, func(v *vendor, a, b, s, other uintptr) {
			require.NotZero(v.t, v.sync(v.event(0)))
		}},
		{"DestroyedEvent", []string{"destroyed event"}, func(v *vendor, a, b, s, other uintptr) {
			e := v.event(0)
			v.endEvent(e)
			require.Equal(v.t, 400, v.record(e, s))
		}},
		{"WrongDeviceCurrent", []string{"stream", "while device 1 is current"}, func(v *vendor, a, b, s, other uintptr) {
			v.use(1)
			require.Zero(v.t, v.fill(a, 1, 1, s))
			v.use(0)
			require.Zero(v.t, v.sync(s))
		}},
		{"MemoryOfAnotherDevice", []string{"memory of device 1"}, func(v *vendor, a, b, s, other uintptr) {
			v.use(1)
			c := v.alloc(10)
			v.use(0)
			require.Zero(v.t, v.fill(c, 1, 10, s))
			require.Zero(v.t, v.sync(s))
		}},
		{"FreeWhileAnotherIsCurrent", []string{"memory of device 0 while device 1 is current"}, func(v *vendor, a, b, s, other uintptr) {
			v.use(1)
			require.Zero(v.t, v.tryFree(a))
		}},
		{"FreeInFlight", []string{"in flight"}, func(v *vendor, a, b, s, other uintptr) {
			require.Zero(v.t, v.fill(a, 1, 100, s))
			require.Zero(v.t, v.tryFree(a))
			require.Zero(v.t, v.sync(s))
		}},
		{"UnpinInFlight", []string{"in flight"}, func(v *vendor, a, b, s, other uintptr) {
			p := v.pinned(100)
			require.Zero(v.t, v.d2h(p, a, s))
			v.unpin(p)
			require.Zero(v.t, v.sync(s))
		}},
		{"RaceOfTwoWrites", []string{"race", "writes"}, func(v *vendor, a, b, s, other uintptr) {
			require.Zero(v.t, v.fill(a, 1, 50, s))
			require.Zero(v.t, v.fill(a+49, 1, 50, other))
			require.Zero(v.t, v.sync(s))
			require.Zero(v.t, v.sync(other))
		}},
		{"RaceWithAnEarlierReader", []string{"race", "reads"}, func(v *vendor, a, b, s, other uintptr) {
			require.Zero(v.t, v.d2d(b, a, 50, s))
			require.Zero(v.t, v.fill(a, 1, 50, other))
			require.Zero(v.t, v.sync(s))
			require.Zero(v.t, v.sync(other))
		}},
		{"WorkAfterTheRecordIsNotOrdered", []string{"race"}, func(v *vendor, a, b, s, other uintptr) {
			e, late := v.event(2), v.event(2)
			require.Zero(v.t, v.record(e, s))
			require.Zero(v.t, v.fill(a, 1, 50, s))
			require.Zero(v.t, v.record(late, s))
			require.Zero(v.t, v.wait(other, e))
			require.Zero(v.t, v.fill(a, 1, 50, other))
			require.Zero(v.t, v.eventSync(late)) // the fills may run in the right order, but only by luck
			require.Zero(v.t, v.sync(other))
		}},
		{"WaitBeforeRecordOrdersNothing", []string{"race"}, func(v *vendor, a, b, s, other uintptr) {
			e := v.event(2)
			require.Zero(v.t, v.fill(a, 1, 50, s))
			require.Zero(v.t, v.wait(other, e)) // not recorded yet
			require.Zero(v.t, v.record(e, s))
			require.Zero(v.t, v.fill(a, 1, 50, other))
			require.Zero(v.t, v.sync(s))
			require.Zero(v.t, v.sync(other))
		}},
	} {
		t.Run(p.name, func(t *testing.T) {
			eachVendor(t, func(t *testing.T, v *vendor) {
				for seed := range uint64(6) {
					v.restart(seed)
					a, b := v.alloc(100), v.alloc(100)
					p.run(v, a, b, v.stream(), v.stream())
					v.violates(p.words...)
				}
			})
		})
	}
}

func TestEventOfAnotherDevice(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		s := v.stream()
		v.use(1)
		e, s1 := v.event(2), v.stream()
		require.Zero(t, v.record(e, s1))
		v.use(0)
		require.Zero(t, v.wait(s, e), "waiting for it is allowed")
		require.Zero(t, v.sync(s))
		v.silent()
		require.Equal(t, 400, v.record(e, s))
		require.Len(t, v.Violations(), 2)
		require.NoError(t, hasLine(v.Violations(), "event 1 of device 1 while device 0 is current"))
		require.NoError(t, hasLine(v.Violations(), "event 1 of device 1 on a stream of device 0"))
	})
}

// What is ordered, or only reads, is no race.
func TestValidatorIsSilentAboutOrderedWork(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(20) {
			v.restart(seed)
			a, b, c := v.alloc(100), v.alloc(100), v.alloc(100)
			s1, s2 := v.stream(), v.stream()
			e := v.event(2)
			require.Zero(t, v.fill(a, 1, 100, s1))
			require.Zero(t, v.sync(s1)) // the host waits, and then both may read
			require.Zero(t, v.d2d(b, a, 100, s1))
			require.Zero(t, v.d2d(c, a, 100, s2))
			require.Zero(t, v.fill(b, 1, 50, s1))
			require.Zero(t, v.record(e, s1))
			for v.eventQuery(e) == 600 { // a query that says "done" orders as a wait does
				runtime.Gosched()
			}
			require.Zero(t, v.fill(b, 2, 100, s2))
			require.Zero(t, v.fill(a, 2, 50, s2))
			require.Zero(t, v.fill(c, 2, 50, s2))
			for v.query(s2) == 600 {
				runtime.Gosched()
			}
			require.Zero(t, v.fill(c, 3, 50, s1))
			require.Zero(t, v.record(e, s1))
			require.Zero(t, v.wait(s2, e))
			require.Zero(t, v.fill(c, 3, 50, s2))
			require.Zero(t, v.record(e, s2))
			require.Zero(t, v.wait(s1, e))
			require.Zero(t, v.record(e, s2)) // recorded again: the wait keeps its meaning
			require.Zero(t, v.fill(a, 3, 100, s1))
			require.Zero(t, v.sync(s1))
			require.Zero(t, v.sync(s2))
			v.silent()
		}
	})
}

func TestNoCurrentContext(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		if !v.cuda() {
			t.Skip("HIP has a current device on every thread, and no contexts")
		}
		s := v.stream()
		v.ok("cuCtxSetCurrent", 0)
		_, code := v.tryAlloc(1)
		require.Equal(t, 201, code)
		v.violates("no context is current")
		require.Equal(t, 201, v.sync(s))
		v.violates("no context is current")
		done := make(chan int)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with its own context
			var p uintptr
			done <- v.call("cuMemAlloc_v2", uintptr(unsafe.Pointer(&p)), 1)
		}()
		v.use(0)
		require.Equal(t, 201, <-done, "the current context belongs to the thread")
		v.violates("no context is current")
		old := v.ctxs[0]
		v.endStream(s)
		v.end()
		require.Equal(t, 709, v.call("cuMemAlloc_v2", uintptr(unsafe.Pointer(&s)), 1))
		v.violates("destroyed context")
		v.restart(0)
		require.NotEqual(t, old, v.ctxs[0])
		require.NoError(t, v.Reset(0))
		v.ok("cuInit", 0)
		require.Equal(t, 201, v.call("cuCtxSynchronize"), "a reset leaves no context current")
	})
}

func TestCurrentDeviceBelongsToTheThread(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		if v.cuda() {
			t.Skip("CUDA has contexts: see TestNoCurrentContext")
		}
		v.use(1)
		done := make(chan int)
		go func() {
			runtime.LockOSThread()
			device := int32(-1)
			v.call("hipGetDevice", uintptr(unsafe.Pointer(&device)))
			done <- int(device)
		}()
		require.Zero(t, <-done)
		device := int32(-1)
		v.ok("hipGetDevice", uintptr(unsafe.Pointer(&device)))
		require.EqualValues(t, 1, device)
	})
}

func TestLeaksAreListed(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		mem := make([]byte, 8192)
		v.alloc(77)
		v.pinned(78)
		v.managed(79)
		s := v.stream()
		v.event(0)
		_, code := v.allocAsync(80, s)
		require.Zero(t, code)
		v.ok(v.pick("cuMemHostRegister_v2", "hipHostRegister"), v.address(mem), uintptr(len(mem)), 1)
		for _, words := range [][]string{{"device memory", "77 bytes"}, {"host memory", "78 bytes"}, {"managed memory", "79 bytes"},
			{"device memory", "80 bytes"}, {"registered memory", "8192 bytes"}, {"stream 1"}, {"event 1"}} {
			require.NoError(t, hasLine(v.Leaks(), append(words, "simulated "+v.face)...))
		}
		if !v.cuda() {
			require.Len(t, v.Leaks(), 7)
			return
		}
		require.Len(t, v.Leaks(), 9)
		require.NoError(t, hasLine(v.Leaks(), "primary context of device 0, retained 1 times"))
		v.end()
		v.violates("context of device 0 ends with 5 memories, 1 streams, 1 events and 0 modules alive")
		require.Empty(t, v.Leaks())
	})
}

func TestStreamsProgressWithoutTheHost(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(6) {
			v.restart(seed)
			word := v.pinned(8)
			clear(word)
			flag := (*atomic.Uint32)(unsafe.Pointer(&word[0]))
			a, s := v.alloc(4096), v.stream()
			for range 10 {
				require.Zero(t, v.fill(a, 1, 4096, s))
			}
			require.Zero(t, v.call(v.pick("cuStreamWriteValue32_v2", "hipStreamWriteValue32"), s, v.address(word), 5, 0))
			for flag.Load() != 5 {
				runtime.Gosched()
			}
		}
	})
}

var callbacks struct {
	sync.Once
	fn, cb uintptr
	made   chan int
	within func() // runs inside the callback
}

func hostFunc() (fn, cb uintptr) {
	callbacks.Do(func() {
		callbacks.made = make(chan int, 100)
		call := func(arg uintptr) {
			if callbacks.within != nil {
				callbacks.within()
			}
			callbacks.made <- int(arg)
		}
		callbacks.fn = purego.NewCallback(func(arg uintptr) uintptr { call(arg); return 0 })
		callbacks.cb = purego.NewCallback(func(_, status, arg uintptr) uintptr { call(arg + 1000*status); return 0 })
	})
	return callbacks.fn, callbacks.cb
}

func TestHostCallbacks(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		fn, cb := hostFunc()
		defer func() { callbacks.within = nil }()
		for seed := range uint64(10) {
			v.restart(seed)
			a, s := v.alloc(64), v.stream()
			out := v.pinned(64)
			var seen []byte
			callbacks.within = func() { seen = bytes.Clone(out) }
			require.Zero(t, v.fill(a, 3, 64, s))
			require.Zero(t, v.d2h(out, a, s))
			require.Zero(t, v.call(v.pick("cuLaunchHostFunc", "hipLaunchHostFunc"), s, fn, 17))
			require.Equal(t, 17, <-callbacks.made) // nobody waits in the driver
			require.Equal(t, bytes.Repeat([]byte{3}, 64), seen)
			require.Zero(t, v.HostAccess(unsafe.Pointer(&out[0]), 64, true), "the callback told the host")
			v.free(a)
			v.silent()

			var inside int
			callbacks.within = func() { inside = v.call(v.pick("cuCtxSynchronize", "hipDeviceSynchronize")) }
			require.Zero(t, v.call(v.pick("cuStreamAddCallback", "hipStreamAddCallback"), s, cb, 18, 0))
			require.Zero(t, v.sync(s))
			require.Equal(t, 18, <-callbacks.made)
			require.Equal(t, 800, inside)
			v.violates("driver call inside a host callback")
		}
	})
}

func TestEvents(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		s := v.stream()
		from, to, plain := v.event(0), v.event(0), v.event(2)
		require.Zero(t, v.eventQuery(from), "never recorded: done")
		require.Zero(t, v.eventSync(from))
		require.Zero(t, v.wait(s, from))
		elapsed := func(a, b uintptr) (ms float32, code int) {
			code = v.call(v.pick("cuEventElapsedTime", "hipEventElapsedTime"), uintptr(unsafe.Pointer(&ms)), a, b)
			return ms, code
		}
		_, code := elapsed(from, to)
		require.Equal(t, 400, code)
		word := v.pinned(8)
		clear(word)
		require.Zero(t, v.record(from, s))
		require.Zero(t, v.gate(s, word))
		require.Zero(t, v.record(to, s))
		require.Zero(t, v.record(plain, s))
		_, code = elapsed(from, to)
		require.Equal(t, 600, code)
		require.Equal(t, 600, v.eventQuery(to))
		(*atomic.Uint32)(unsafe.Pointer(&word[0])).Store(1)
		require.Zero(t, v.eventSync(to))
		ms, code := elapsed(from, to)
		require.Zero(t, code)
		require.Greater(t, ms, float32(0))
		_, code = elapsed(from, plain)
		require.Equal(t, 400, code)
		v.silent()
	})
}

func TestFailCall(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		before := v.CallCount()
		a := v.alloc(64)
		require.Equal(t, before+1, v.CallCount())
		require.Equal(t, 1, v.Calls()[v.pick("cuMemAlloc_v2", "hipMalloc")])
		v.FailCall(2, 719)
		s := v.stream()
		require.Equal(t, 719, v.fill(a, 1, 64, s))
		require.Zero(t, v.fill(a, 2, 64, s), "only that call")
		v.FailCall(1, 702)
		require.Equal(t, 702, v.tryFree(a), "a free reports the error")
		require.NotZero(t, v.tryFree(a), "and has freed")
		v.Clear()
		v.FailCall(1, 999)
		require.Equal(t, 999, v.call(v.pick("cuStreamDestroy_v2", "hipStreamDestroy"), s))
		for _, l := range v.Leaks() {
			require.NotContains(t, l, "stream")
			require.NotContains(t, l, "memory")
		}
		v.FailAlloc(2)
		b := v.alloc(1)
		_, code := v.tryAlloc(1)
		require.Equal(t, 2, code)
		_, code = v.tryAlloc(1)
		require.Zero(t, code)
		_ = b
	})
}

func TestStickyErrorLastsUntilTheContextGoes(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(4) {
			v.restart(seed)
			a, s, e := v.alloc(64), v.stream(), v.event(2)
			word := v.pinned(8)
			clear(word)
			require.Zero(t, v.gate(s, word))
			require.Zero(t, v.fill(a, 1, 64, s))
			require.Zero(t, v.record(e, s))
			v.Sticky(700)
			require.Equal(t, 700, v.sync(s), "nobody waits for ever")
			require.Equal(t, 700, v.eventSync(e))
			_, code := v.tryAlloc(1)
			require.Equal(t, 700, code)
			require.Equal(t, 700, v.tryFree(a), "a free still frees")
			require.Equal(t, 700, v.call(v.pick("cuStreamDestroy_v2", "hipStreamDestroy"), s))
			require.Equal(t, 700, v.call(v.pick("cuEventDestroy_v2", "hipEventDestroy"), e))
			require.Equal(t, 700, v.call(v.pick("cuMemFreeHost", "hipHostFree"), v.address(word)))
			v.Clear()
			if v.cuda() {
				v.end()
				require.Empty(t, v.Leaks())
				v.silent()
				var ctx uintptr
				v.ok("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&ctx)), 0)
				v.ctxs = []uintptr{ctx}
			} else {
				v.ok("hipDeviceReset")
			}
			v.use(0)
			v.alloc(1)
		}
		// A wait that has begun ends too.
		word := v.pinned(8)
		clear(word)
		s := v.stream()
		require.Zero(t, v.gate(s, word))
		started := v.CallCount()
		done := make(chan int)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			v.use(0)
			done <- v.sync(s)
		}()
		for v.CallCount() < started+2 {
			runtime.Gosched()
		}
		require.NoError(t, v.StickyOn(0, 719))
		require.Equal(t, 719, <-done)
		v.restart(0)
		require.NoError(t, v.StickyOn(1, 700))
		v.alloc(1)
		require.Error(t, v.StickyOn(7, 700))
	})
}

func TestLostDevice(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		v.use(1)
		s := v.stream()
		a := v.alloc(10)
		require.NoError(t, v.Lost(1))
		require.Error(t, v.Lost(2))
		require.Equal(t, 719, v.sync(s))
		require.Equal(t, 719, v.tryFree(a))
		v.use(0)
		v.alloc(10)
		v.restart(0)
		v.use(1)
		v.alloc(10)
		require.NoError(t, v.LostAt(1, 3)) // an allocation, a stream, and then
		require.Error(t, v.LostAt(2, 1))
		v.alloc(10)
		require.Equal(t, 719, v.sync(v.stream()))
		v.restart(0)
	})
}

func TestSlowLink(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(3) {
			v.restart(seed)
			a, b, s := v.alloc(30000), v.alloc(30000), v.stream()
			p := v.pinned(30000)
			e := []uintptr{v.event(0), v.event(0), v.event(0)}
			v.PeerAccess(10000)
			require.Zero(t, v.record(e[0], s))
			require.Zero(t, v.h2d(a, p, s))
			require.Zero(t, v.record(e[1], s))
			require.Zero(t, v.d2d(b, a, 30000, s))
			require.Zero(t, v.record(e[2], s))
			require.Zero(t, v.sync(s))
			var ms [2]float32
			for i := range ms {
				v.ok(v.pick("cuEventElapsedTime", "hipEventElapsedTime"), uintptr(unsafe.Pointer(&ms[i])), e[i], e[i+1])
			}
			require.GreaterOrEqual(t, ms[0], float32(3))
			v.PeerAccess(0)
			v.silent()
		}
	})
}

// A limited link takes pageable memory at a rate of its own, and holds up the caller.
func TestSlowPageableMemory(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		const n, few = 200_000, 60_000
		a, s := v.alloc(n), v.stream()
		src, word := make([]byte, n), v.pinned(4)
		clear(word)
		took := func(copy func() int) float32 {
			from, to := v.event(0), v.event(0)
			require.Zero(t, v.record(from, s))
			require.Zero(t, copy())
			require.Zero(t, v.query(s), "the copy has held up its caller")
			require.Zero(t, v.record(to, s))
			require.Zero(t, v.sync(s))
			var ms float32
			v.ok(v.pick("cuEventElapsedTime", "hipEventElapsedTime"), uintptr(unsafe.Pointer(&ms)), from, to)
			return ms
		}
		v.PeerAccess(100_000)
		require.NoError(t, v.Set(Pageable, 20_000))
		require.GreaterOrEqual(t, took(func() int { return v.h2d(a, src, s) }), float32(10))
		require.GreaterOrEqual(t, took(func() int { return v.d2h(src, a, s) }), float32(10))

		require.Zero(t, v.gate(s, word))
		require.Zero(t, v.h2d(a, src[:few], s), "little is taken over at once")
		require.NoError(t, v.Set(Pageable, 0))
		require.Zero(t, v.h2d(a, src, s), "and so is everything without the setting")
		require.Equal(t, 600, v.query(s))
		word[0] = 1
		require.Zero(t, v.sync(s))
		v.PeerAccess(0)
		v.silent()
	})
}

func TestPeers(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		const n = 5000
		enable := func(peer int) int {
			if v.cuda() {
				return v.call("cuCtxEnablePeerAccess", v.ctxs[peer], 0)
			}
			return v.call("hipDeviceEnablePeerAccess", uintptr(peer), 0)
		}
		disable := func(peer int) int {
			if v.cuda() {
				return v.call("cuCtxDisablePeerAccess", v.ctxs[peer])
			}
			return v.call("hipDeviceDisablePeerAccess", uintptr(peer))
		}
		for seed := range uint64(5) {
			v.restart(seed)
			var can int32
			v.ok(v.pick("cuDeviceCanAccessPeer", "hipDeviceCanAccessPeer"), uintptr(unsafe.Pointer(&can)), 0, 1)
			require.EqualValues(t, 1, can)
			v.use(1)
			b := v.alloc(n)
			v.use(0)
			a, s := v.alloc(n), v.stream()
			require.Zero(t, v.h2d(a, pattern(n, 1), s))
			require.Zero(t, v.peerCopy(b, 1, a, 0, n, s))
			require.Zero(t, v.fill(a, 0, n, s))
			require.Zero(t, v.peerCopy(a, 0, b, 1, n, s))
			got := make([]byte, n)
			require.Zero(t, v.d2h(got, a, s))
			require.Equal(t, pattern(n, 1), got)
			v.silent()
			require.Zero(t, v.peerCopy(b, 0, a, 1, n, s))
			require.Len(t, v.Violations(), 2, "devices swapped")
			v.Clear()
			require.Zero(t, v.fill(b, 1, n, s))
			v.violates("may not use")
			require.Zero(t, enable(1))
			require.Equal(t, 704, enable(1))
			require.Zero(t, v.fill(b, 1, n, s))
			require.Zero(t, disable(1))
			require.Equal(t, 705, disable(1))
			require.Zero(t, v.sync(s))
			v.silent()
		}
	})
}

func TestRegisteredMemory(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		register := func(b []byte) int {
			return v.call(v.pick("cuMemHostRegister_v2", "hipHostRegister"), v.address(b), uintptr(len(b)), 2)
		}
		unregister := func(b []byte) int {
			return v.call(v.pick("cuMemHostUnregister", "hipHostUnregister"), v.address(b))
		}
		device := func(b []byte) (p uintptr) {
			v.ok(v.pick("cuMemHostGetDevicePointer_v2", "hipHostGetDevicePointer"), uintptr(unsafe.Pointer(&p)), v.address(b), 0)
			return p
		}
		mem := make([]byte, 10000)
		copy(mem, pattern(10000, 2))
		for seed := range uint64(4) {
			for _, lack := range []Lack{0, LackRegisteredPointer} {
				require.NoError(t, v.Set(Without, uint64(lack)))
				v.restart(seed)
				s, a := v.stream(), v.alloc(10000)
				require.Zero(t, register(mem))
				require.Equal(t, 712, register(mem[5000:]))
				require.Equal(t, 712, register(mem[:1]))
				p := device(mem)
				require.Equal(t, lack == 0, p == v.address(mem))
				require.Equal(t, p+50, device(mem[50:]))
				// Both the device's address, and the host's where a host pointer belongs.
				require.Zero(t, v.d2d(a, p, 10000, s))
				require.Zero(t, v.fill(p, 0, 5000, s))
				require.Zero(t, v.d2h(mem[:2500], a, s))
				require.Zero(t, v.sync(s))
				require.Equal(t, pattern(10000, 2)[:2500], mem[:2500])
				require.Equal(t, make([]byte, 2500), mem[2500:5000])
				if lack != 0 {
					require.Equal(t, 1, v.fill(v.address(mem), 0, 1, s))
					v.violates("not the device's")
				}
				require.Equal(t, 713, unregister(mem[1:]))
				v.violates("not the start")
				require.Zero(t, unregister(mem))
				require.Equal(t, 713, unregister(mem))
				v.violates("not the start")
				copy(mem, pattern(10000, 2))
			}
		}
		v.begin(0)
		require.Equal(t, 1, v.call(v.pick("cuMemHostRegister_v2", "hipHostRegister"), 4096, 4096, 0),
			"memory that is not there")
		v.silent()
	})
}

func TestUnreadableHostMemoryIsAnError(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(3) {
			v.restart(seed)
			a, s := v.alloc(64), v.stream()
			require.NotZero(t, v.call(v.pick("cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync"), a, 4096, 64, s))
			v.violates("cannot be")
			require.NotZero(t, v.call(v.pick("cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync"), 4096, a, 64, s))
			v.violates("cannot be")
			require.Zero(t, v.fill(a, 1, 64, s), "nothing sticks")
		}
	})
}

func TestManagedMemory(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(4) {
			v.restart(seed)
			m, s := v.managed(4096), v.stream()
			require.Zero(t, v.fill(v.address(m), 6, 4096, s))
			require.Zero(t, v.call(v.pick("cuMemPrefetchAsync", "hipMemPrefetchAsync"), v.address(m), 4096, ^uintptr(0), s))
			require.Zero(t, v.call(v.pick("cuMemPrefetchAsync", "hipMemPrefetchAsync"), v.address(m)+100, 100, 1, s))
			require.Equal(t, 101, v.call(v.pick("cuMemPrefetchAsync", "hipMemPrefetchAsync"), v.address(m), 1, 9, s))
			require.Zero(t, v.sync(s))
			require.Equal(t, bytes.Repeat([]byte{6}, 4096), m)
			require.Equal(t, 1, v.call(v.pick("cuMemPrefetchAsync", "hipMemPrefetchAsync"), v.address(m), 4097, 0, s))
			v.violates("not a range of managed memory")
			v.free(v.address(m))
			v.silent()
		}
	})
}

func TestAbilitiesCanBeTakenAway(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		fn, _ := hostFunc()
		attribute := func(cuda, hip uintptr) int32 {
			value := int32(-1)
			if v.cuda() {
				v.ok("cuDeviceGetAttribute", uintptr(unsafe.Pointer(&value)), cuda, 0)
			} else {
				v.ok("hipDeviceGetAttribute", uintptr(unsafe.Pointer(&value)), hip, 0)
			}
			return value
		}
		var out [8]uint64
		p := pintest.Address(t, &out)
		mem := make([]byte, 64)
		for _, c := range []struct {
			lack      Lack
			cuda, hip uintptr // the attribute, 0 if there is none
			code      int
			call      func(s uintptr) int
		}{
			{LackPeer, 0, 0, 217, func(s uintptr) int {
				if v.cuda() {
					return v.call("cuCtxEnablePeerAccess", v.ctxs[1], 0)
				}
				return v.call("hipDeviceEnablePeerAccess", 1, 0)
			}},
			{LackPools, 115, 88, 801, func(s uintptr) int { _, code := v.allocAsync(1, s); return code }},
			{LackWaitValue, 92, 10013, 801, func(s uintptr) int { return v.gate(s, make([]byte, 8)) }},
			{LackManaged, 83, 24, 801, func(s uintptr) int {
				return v.call(v.pick("cuMemAllocManaged", "hipMallocManaged"), p, 10, 1)
			}},
			{LackConcurrentManaged, 89, 9, 101, func(s uintptr) int {
				return v.call(v.pick("cuMemPrefetchAsync", "hipMemPrefetchAsync"), v.address(v.managed(64)), 64, 0, s)
			}},
			{LackHostRegister, 99, 0, 801, func(s uintptr) int {
				return v.call(v.pick("cuMemHostRegister_v2", "hipHostRegister"), v.address(mem), 64, 0)
			}},
			{LackPriorities, 78, 78, 0, nil},
			{LackHostFunc, 0, 0, 801, func(s uintptr) int {
				return v.call(v.pick("cuLaunchHostFunc", "hipLaunchHostFunc"), s, fn, 0)
			}},
			{LackIPC, 0, 0, 801, func(s uintptr) int {
				return v.call(v.pick("cuIpcGetMemHandle", "hipIpcGetMemHandle"), p, v.alloc(10))
			}},
			{LackAnswers, 0, 0, 801, func(uintptr) int {
				return v.call(v.pick("cuDeviceGetUuid_v2", "hipDeviceGetUuid"), p, 0)
			}},
			{LackAnswers, 0, 0, 801, func(uintptr) int {
				return v.call(v.pick("cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId"), p, 13, 0)
			}},
			{LackAnswers, 0, 0, 801, func(uintptr) int {
				number := map[bool]uintptr{true: 123, false: 10013}[v.cuda()]
				return v.call(v.pick("cuDeviceGetAttribute", "hipDeviceGetAttribute"), p, number, 0)
			}},
			{LackPointerQuery, 0, 0, 801, func(uintptr) int {
				return v.call(v.pick("cuPointerGetAttribute", "hipPointerGetAttribute"), p, 2, v.alloc(10))
			}},
			{LackHostLaunch, 0, 0, 801, func(s uintptr) int {
				return v.call(v.pick("cuLaunchHostFunc", "hipLaunchHostFunc"), s, fn, 0)
			}},
			{LackPrefetch, 0, 0, 801, func(s uintptr) int {
				return v.call(v.pick("cuMemPrefetchAsync", "hipMemPrefetchAsync"), v.address(v.managed(64)), 64, 0, s)
			}},
			{LackMemInfo, 0, 0, 801, func(s uintptr) int {
				return v.call(v.pick("cuMemGetInfo_v2", "hipMemGetInfo"), p, p+8)
			}},
		} {
			require.NoError(t, v.Set(Without, 0))
			v.restart(0)
			for has, lack := range map[int32]Lack{1: 0, 0: c.lack} {
				require.NoError(t, v.Set(Without, uint64(lack)))
				v.restart(0)
				if id := map[bool]uintptr{true: c.cuda, false: c.hip}[v.cuda()]; id != 0 {
					require.Equal(t, has, attribute(c.cuda, c.hip), "%b", c.lack)
				}
			}
			require.NoError(t, v.Set(Without, uint64(c.lack)))
			v.restart(0)
			if c.call != nil {
				require.Equal(t, c.code, c.call(v.stream()), "%b", c.lack)
			}
		}
		require.Error(t, v.Set("nothing", 1))
		require.Error(t, v.Set(Devices, 17))
	})
}

func TestEnumeration(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		require.NoError(t, v.Set(Devices, 3))
		require.NoError(t, v.Reset(0))
		if v.cuda() {
			v.ok("cuInit", 0)
		}
		var n int32
		v.ok(v.pick("cuDeviceGetCount", "hipGetDeviceCount"), uintptr(unsafe.Pointer(&n)))
		require.EqualValues(t, 3, n)
		ids := map[string]bool{}
		for d := range uintptr(n) {
			var name, pci, uuid [64]byte
			v.ok(v.pick("cuDeviceGetName", "hipDeviceGetName"), uintptr(unsafe.Pointer(&name)), 64, d)
			v.ok(v.pick("cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId"), uintptr(unsafe.Pointer(&pci)), 64, d)
			v.ok(v.pick("cuDeviceGetUuid_v2", "hipDeviceGetUuid"), uintptr(unsafe.Pointer(&uuid)), d)
			require.Equal(t, fmt.Sprintf("Simulated %s device %d", v.face, d), cString(name[:]))
			require.Equal(t, fmt.Sprintf("0000:%02x:00.0", 0x40+d), cString(pci[:]))
			ids[string(uuid[:16])] = true
			var bytes uint64
			v.ok(v.pick("cuDeviceTotalMem_v2", "hipDeviceTotalMem"), uintptr(unsafe.Pointer(&bytes)), d)
			require.EqualValues(t, 256<<20, bytes)
		}
		require.Len(t, ids, 3)
		require.Empty(t, v.Leaks(), "enumerating makes no context")
		require.Equal(t, 101, v.call(v.pick("cuDeviceGetName", "hipDeviceGetName"), uintptr(unsafe.Pointer(&n)), 4, 3))
		require.Equal(t, "simulated "+v.face+" driver", v.Name())
		require.Equal(t, 1, v.Version())

		require.NoError(t, v.Set(Devices, 0))
		require.NoError(t, v.Reset(0))
		if v.cuda() {
			require.Equal(t, 100, v.call("cuInit", 0))
		} else {
			require.Equal(t, 101, v.call("hipInit", 0))
			require.Equal(t, 100, v.call("hipGetDeviceCount", uintptr(unsafe.Pointer(&n))))
			require.Zero(t, n)
		}
	})
}

func cString(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

func TestDefaultStream(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(10) {
			v.restart(seed)
			a := v.alloc(64)
			word := v.pinned(8)
			clear(word)
			var blocking uintptr
			v.ok(v.pick("cuStreamCreate", "hipStreamCreateWithFlags"), uintptr(unsafe.Pointer(&blocking)), 0)
			free := v.stream()
			require.Zero(t, v.gate(blocking, word))
			require.Zero(t, v.fill(a, 1, 64, blocking))
			require.Zero(t, v.fill(a, 2, 64, 0)) // after the blocking stream
			require.Zero(t, v.sync(free))
			require.Equal(t, 600, v.query(0))
			(*atomic.Uint32)(unsafe.Pointer(&word[0])).Store(1)
			require.Zero(t, v.fill(a, 3, 32, blocking)) // after the default stream
			got := v.pinned(64)
			require.Zero(t, v.d2h(got, a, blocking))
			require.Zero(t, v.sync(blocking))
			require.Equal(t, append(bytes.Repeat([]byte{3}, 32), bytes.Repeat([]byte{2}, 32)...), got)
			v.silent()
			require.Zero(t, v.fill(a, 4, 64, free)) // not ordered with the default stream
			require.Zero(t, v.fill(a, 5, 64, 0))
			require.Zero(t, v.call(v.pick("cuCtxSynchronize", "hipDeviceSynchronize")))
			v.violates("race")
		}
	})
}

func TestResetEndsWaits(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		word := v.pinned(8)
		clear(word)
		s, a := v.stream(), v.alloc(64)
		require.Zero(t, v.gate(s, word))
		started := v.CallCount()
		done := make(chan int, 2)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			v.use(0)
			done <- v.sync(s)
		}()
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			v.use(0)
			done <- v.d2h(make([]byte, 64), a, s)
		}()
		for v.CallCount() < started+4 {
			runtime.Gosched()
		}
		require.NoError(t, v.Reset(3))
		require.Equal(t, 4, <-done)
		require.Equal(t, 4, <-done)
		require.Empty(t, v.Leaks())
		v.restart(0)
		require.NotZero(t, v.sync(s))
		v.violates("destroyed stream")
	})
}

func TestDestroyedStreamFinishesItsWork(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(20) {
			v.restart(seed)
			s, other, e := v.stream(), v.stream(), v.event(2)
			a, out := v.alloc(1000), v.pinned(1000)
			require.Zero(t, v.fill(a, 4, 1000, s))
			require.Zero(t, v.record(e, s))
			v.endStream(s)
			require.Zero(t, v.wait(other, e))
			require.Zero(t, v.d2h(out, a, other))
			v.endStream(other)
			require.Zero(t, v.call(v.pick("cuCtxSynchronize", "hipDeviceSynchronize")))
			require.Zero(t, v.eventSync(e))
			v.silent()
			// Work that never ends is dropped with everything else.
			word := v.pinned(8)
			clear(word)
			s = v.stream()
			require.Zero(t, v.gate(s, word))
			require.Zero(t, v.fill(a, 1, 1000, s))
			v.endStream(s)
			v.restart(seed)
			require.Zero(t, v.Step(100))
			require.Zero(t, v.HostAccess(unsafe.Pointer(&v.pinned(8)[0]), 8, true))
		}
	})
}

// With the background thread held a seed repeats itself to the byte.
func TestSeedsRepeat(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		program := func(seed uint64) string {
			v.restart(seed)
			v.Hold(true)
			a := v.alloc(4096)
			out := v.pinned(4096)
			var streams []uintptr
			for range 4 {
				streams = append(streams, v.stream())
			}
			for i := range 40 {
				v.fill(a, byte(i), 4096, streams[i%4])
				if i%10 == 9 {
					v.d2h(out[i*100:], a, streams[i%3])
				}
			}
			for _, s := range streams {
				v.sync(s)
			}
			return string(out)
		}
		kinds := map[string]bool{}
		for seed := uint64(1); seed <= 20; seed++ {
			first := program(seed)
			require.True(t, first == program(seed), "seed %d does not repeat itself", seed)
			kinds[first] = true
		}
		require.Greater(t, len(kinds), 10, "seeds differ")
	})
}

func TestStepAndHold(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := uint64(1); seed < 20; seed++ {
			v.restart(seed)
			v.Hold(true)
			a, s := v.alloc(8), v.stream()
			moved := v.Bytes()
			require.Zero(t, v.fill(a, 1, 8, s))
			if v.Bytes() != moved {
				continue // this seed ran it in the call
			}
			for until := time.Now().Add(3 * time.Millisecond); time.Now().Before(until); {
				require.Equal(t, moved, v.Bytes(), "held, but it runs")
			}
			require.EqualValues(t, 1, v.Step(10))
			require.Equal(t, moved+8, v.Bytes())
			require.Zero(t, v.Step(10))
			require.Zero(t, v.query(s))
		}
	})
}

func TestFreeMode(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		require.NoError(t, v.Set(Free, 1))
		v.restart(0)
		a, s, e := v.alloc(1<<20), v.stream(), v.event(2)
		p := v.pinned(1 << 20)
		copy(p, "untouched")
		require.Zero(t, v.fill(a, 1, 1<<20, s))
		require.Zero(t, v.d2h(p, a, s))
		require.Zero(t, v.record(e, s))
		require.Zero(t, v.query(s), "work is done when it is submitted")
		require.Zero(t, v.eventQuery(e))
		require.Zero(t, v.Bytes())
		require.Equal(t, "untouched", string(p[:9]))
		require.Equal(t, 1, v.fill(a, 1, 1<<20+1, s), "arguments are still checked")
	})
}

func TestTwoDimensions(t *testing.T) {
	cuda, _ := libraries(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	v := newVendor(t, "CUDA", cuda)
	type memcpy2D struct {
		srcX, srcY      uintptr
		srcType         uint32
		srcHost         uintptr
		src, srcArray   uintptr
		srcPitch        uintptr
		dstX, dstY      uintptr
		dstType         uint32
		dstHost         uintptr
		dst, dstArray   uintptr
		dstPitch, width uintptr
		height          uintptr
	}
	for seed := range uint64(6) {
		v.begin(seed)
		s := v.stream()
		var a, pitch uintptr
		v.ok("cuMemAllocPitch_v2", uintptr(unsafe.Pointer(&a)), uintptr(unsafe.Pointer(&pitch)), 100, 5, 4)
		require.EqualValues(t, 512, pitch)
		src := pattern(500, 1)
		in := memcpy2D{srcType: 1, srcHost: v.address(src), srcPitch: 100, dstType: 2, dst: a, dstPitch: pitch, width: 100, height: 5}
		v.ok("cuMemcpy2DAsync_v2", uintptr(unsafe.Pointer(&in)), s)
		v.ok("cuMemsetD2D16Async", a+10, pitch, 0x0201, 4, 2, s)
		got := make([]byte, 50)
		out := memcpy2D{srcType: 2, src: a, srcX: 10, srcY: 1, srcPitch: pitch, dstType: 1, dstHost: v.address(got), dstPitch: 10, width: 10, height: 4}
		v.ok("cuMemcpy2DAsync_v2", uintptr(unsafe.Pointer(&out)), s)
		want := []byte{1, 2, 1, 2, 1, 2, 1, 2, src[118], src[119]}
		for row := 2; row < 5; row++ {
			want = append(want, src[row*100+10:row*100+20]...)
		}
		require.Equal(t, want, got[:40])
		runtime.KeepAlive(src)
		// Columns side by side are no race.
		other := v.stream()
		v.ok("cuMemsetD2D8Async", a, pitch, 1, 50, 5, s)
		v.ok("cuMemsetD2D8Async", a+50, pitch, 2, 50, 5, other)
		v.ok("cuCtxSynchronize")
		v.silent()
		in.height = ^uintptr(0) / 2
		require.Equal(t, 1, v.call("cuMemcpy2DAsync_v2", uintptr(unsafe.Pointer(&in)), s))
	}
}

func TestPatterns(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(10) {
			v.restart(seed)
			a, s := v.alloc(10000), v.stream()
			got := make([]byte, 10000)
			require.Zero(t, v.call(v.pick("cuMemsetD32Async", "hipMemsetD32Async"), a, 0x04030201, 2500, s))
			require.Zero(t, v.call(v.pick("cuMemsetD16Async", "hipMemsetD16Async"), a+2, 0x0605, 9, s))
			require.Equal(t, 1, v.call(v.pick("cuMemsetD16Async", "hipMemsetD16Async"), a+1, 1, 1, s))
			require.Equal(t, 1, v.call(v.pick("cuMemsetD32Async", "hipMemsetD32Async"), a+2, 1, 1, s))
			require.Zero(t, v.d2h(got, a, s))
			want := bytes.Repeat([]byte{1, 2, 3, 4}, 2500)
			copy(want[2:], bytes.Repeat([]byte{5, 6}, 9))
			require.Equal(t, want, got)
			v.silent()
		}
	})
}

func TestEnginesAreApart(t *testing.T) {
	cuda, _ := libraries(t)
	text, err := os.ReadFile(cuda)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	require.NoError(t, os.WriteFile(path, text, 0o755))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	one, two := newVendor(t, "CUDA", cuda), newVendor(t, "CUDA", path)
	one.begin(0)
	two.begin(0)
	a, s := one.alloc(64), two.stream()
	require.Equal(t, 1, two.fill(a, 1, 64, s))
	two.violates("does not know")
	one.silent()
	require.NoError(t, hasLine(one.Leaks(), "device memory"))
	require.Error(t, hasLine(two.Leaks(), "device memory"))
}

func TestEntryPointsByName(t *testing.T) {
	cuda, _ := libraries(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	v := newVendor(t, "CUDA", cuda)
	v.begin(0)
	for _, c := range []struct {
		name, exported string
		version        uintptr
	}{
		{"cuMemAlloc", "cuMemAlloc_v2", 12000},
		{"cuMemAllocAsync", "cuMemAllocAsync", 12000},
		{"cuStreamWaitValue32", "cuStreamWaitValue32_v2", 12000},
		{"cuStreamWaitValue32", "cuStreamWaitValue32", 11000},
		{"cuMemPrefetchAsync", "cuMemPrefetchAsync", 12090},
		{"cuMemPrefetchAsync", "cuMemPrefetchAsync_v2", 13000},
		{"cuStreamIsCapturing", "cuStreamIsCapturing", 12000},
	} {
		var fn uintptr
		status := int32(-1)
		name := append([]byte(c.name), 0)
		v.ok("cuGetProcAddress_v2", v.address(name), uintptr(unsafe.Pointer(&fn)), c.version, 0, uintptr(unsafe.Pointer(&status)))
		require.Equal(t, v.symbol(c.exported), fn, c.name)
		require.Zero(t, status)
	}
	for _, s := range []uintptr{0, v.stream()} {
		capturing := int32(-1)
		v.ok("cuStreamIsCapturing", s, uintptr(unsafe.Pointer(&capturing)))
		require.Zero(t, capturing)
		require.Equal(t, 1, v.call("cuStreamIsCapturing", s, 0))
	}
	var fn uintptr
	name := []byte("cuNothing\x00")
	require.Equal(t, 500, v.call("cuGetProcAddress", v.address(name), uintptr(unsafe.Pointer(&fn)), 12000, 0))
	require.Equal(t, 801, v.call("cuModuleLoad", 0, 0))
}

func BenchmarkSeed(b *testing.B) {
	cuda, hip := libraries(b)
	for _, f := range []struct{ face, path string }{{"CUDA", cuda}, {"HIP", hip}} {
		b.Run(f.face, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			v := newVendor(b, f.face, f.path)
			v.begin(0)
			for i := range b.N {
				v.restart(uint64(i))
				want, got := orderedProgram(v)
				if !bytes.Equal(want, got) {
					b.Fatal("wrong bytes")
				}
				v.end()
			}
		})
	}
}

func BenchmarkFreeCall(b *testing.B) {
	cuda, hip := libraries(b)
	for _, f := range []struct{ face, path string }{{"CUDA", cuda}, {"HIP", hip}} {
		b.Run(f.face, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			v := newVendor(b, f.face, f.path)
			v.begin(0)
			require.NoError(b, v.Set(Free, 1))
			defer func() { require.NoError(b, v.Set(Free, 0)) }()
			v.restart(0)
			a, s := v.alloc(1<<20), v.stream()
			p := v.pinned(1 << 20)
			name := v.pick("cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync")
			v.ok(name, a, v.address(p), 1<<20, s)
			fn := v.symbol(name)
			b.ResetTimer()
			for range b.N {
				invoke(fn, a, v.address(p), 1<<20, s)
			}
		})
	}
}

// A handle is given out once, also after the first reservation of addresses for handles is used up.
func TestHandlesAreGivenOutOnce(t *testing.T) {
	const n = 20_000 // more than one reservation has
	eachVendor(t, func(t *testing.T, v *vendor) {
		s := v.stream()
		given := make(map[uintptr]struct{}, n)
		var first, last uintptr
		for i := range n {
			last = v.event(0)
			if i == 0 {
				first = last
			}
			given[last] = struct{}{}
			v.endEvent(last)
		}
		require.Len(t, given, n)
		for _, e := range []uintptr{first, last} {
			require.Equal(t, 400, v.record(e, s))
			v.violates("destroyed event")
		}
		require.Equal(t, 400, v.record(4096, s)) // no program is given so low an address
		v.violates("unknown event")
		e := v.event(0)
		require.NotContains(t, given, e)
		require.Zero(t, v.record(e, s))
		require.Zero(t, v.eventSync(e))
		v.endEvent(e)
		v.silent()
	})
}
