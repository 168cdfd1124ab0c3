//go:build vulkan

package vulkan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// launchOf is a launch of one block of one thread.
func launchOf(args []driver.Arg) driver.Launch {
	return driver.Launch{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{1, 1, 1}, Args: args}
}

// wordsOf returns the words of a memory when the work of the stream so far is done.
func wordsOf(t *testing.T, s *stream, m driver.Memory) []uint32 {
	t.Helper()
	out := make([]byte, m.Size())
	must(t, s.CopyOut(start(out), all(m)), s.Sync())
	words := make([]uint32, len(out)/4)
	for i := range words {
		words[i] = binary.NativeEndian.Uint32(out[4*i:])
	}
	return words
}

// adding returns launches on three words: the first gets 1 more, the second becomes the first and 10, and the third the second and 100.
func adding(t *testing.T, d *device, m driver.Memory) (kernels []driver.Kernel, launches []driver.Launch) {
	t.Helper()
	k, err := program(t, d).Kernel("add")
	must(t, err)
	for _, w := range [][3]uint32{{0, 0, 1}, {0, 4, 10}, {4, 8, 100}} {
		args := append(putting(m, uint64(w[0]), 0, 0)[:1], putting(m, uint64(w[1]), w[2], 1)...)
		kernels, launches = append(kernels, k), append(launches, launchOf(args))
	}
	return kernels, launches
}

// Between the launches of a sequence are the barriers that successive launches have.
func TestBarriersOfSequences(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		s := streamOf(t, d)
		kernels, launches := adding(t, d, memoryOf(t, d, driver.KindDevice, 12))
		var calls []string
		real := *d.t
		d.t.barrier = func(c *dl.Chain, cb uintptr, from, to uint32, memory unsafe.Pointer) {
			calls = append(calls, fmt.Sprint("barrier", from, to, *(*memoryBarrier)(memory)))
			real.barrier(c, cb, from, to, memory)
		}
		d.t.cmdDispatch = func(c *dl.Chain, cb uintptr, x, y, z uint32) {
			calls = append(calls, "dispatch")
			real.cmdDispatch(c, cb, x, y, z)
		}
		for i, k := range kernels {
			must(t, s.Launch(k, &launches[i]))
		}
		apart := calls
		calls = nil
		made, err := s.Prepare(kernels, launches)
		must(t, err)
		if len(apart) != 6 || !slices.Equal(calls, apart) {
			t.Errorf("a sequence: %q\nits launches: %q", calls, apart)
		}
		calls = nil
		must(t, second(made.Enqueue()), s.Sync(), made.Close())
		if len(calls) > 0 {
			t.Errorf("a run: %q", calls)
		}
		*d.t = real
	})
}

// Launches that are prepared run in their order, as often as they are enqueued, in turn with other work of the stream, and also behind a
// gate. If a call of the driver fails while they are prepared, the error names it, and nothing is left of them.
func TestSequences(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		s := streamOf(t, d)
		m := memoryOf(t, d, driver.KindDevice, 12)
		kernels, launches := adding(t, d, m)
		failed := 0
		for call, whole := uint64(1), false; !whole; call++ {
			for i := range launches {
				launches[i].Block[0] = uint32(call) // which needs a pipeline of its own
			}
			must(t, s.Fill(all(m), driver.Pattern{Width: 4}), s.Sync())
			p.spy.fail(call, unknown, "")
			made, err := s.Prepare(kernels, launches)
			whole = len(p.spy.failed) == 0
			p.spy.Reset()
			if err == nil {
				for range 20 { // under way at the same time
					must(t, second(made.Enqueue()))
				}
				must(t, s.Fill(driver.Region{Mem: m, Len: 4}, driver.Pattern{Bits: 1000, Width: 4}), second(made.Enqueue()))
				g, err := s.Gate()
				must(t, err)
				if n, err := made.Enqueue(); n != len(launches) || err != nil {
					t.Fatalf("behind a gate: %d, %v", n, err)
				}
				must(t, second(made.Enqueue()), g.Open())
				if w := wordsOf(t, s, m); w[0] != 1003 || w[1] != 1013 || w[2] != 1113 {
					t.Fatalf("call %d: %d", call, w)
				}
				must(t, made.Close())
				continue
			}
			failed++
			var e *driver.Error
			if !errors.As(err, &e) || e.Vendor.Name != "VK_ERROR_UNKNOWN" || e.Vendor.API == "" || e.Op != "launch" {
				t.Fatalf("call %d: %v", call, err)
			}
			if w := wordsOf(t, s, m); w[0] != 0 {
				t.Fatalf("call %d fails, and the words are %d", call, w)
			}
			if pools := p.spy.count("command pool"); pools != len(d.queues) {
				t.Fatalf("call %d fails, and there are %d command pools", call, pools)
			}
		}
		if failed < 5 { // pipeline, pool, buffer, begin, end
			t.Errorf("%d calls failed", failed)
		}
		for _, x := range kernels[0].(*kernel).pipelines {
			if n := x.pending.Load(); n != 0 {
				t.Errorf("%d launches are pending when all is closed", n)
			}
		}
	})
}

func second(_ int, err error) error { return err }

// Each launch of a sequence has its own arguments, also of a kernel that finds them in memory, and whatever becomes of what was passed.
func TestArgumentsOfSequences(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		k, err := loaded(t, d, unpacked(t, wideKernel)).Kernel("wide")
		must(t, err)
		const n, words = 700, 20 // more arguments than the largest slot of small memory has room for
		s := streamOf(t, d)
		m := memoryOf(t, d, driver.KindDevice, 8*words*n)
		var values [16]uint64
		var kernels []driver.Kernel
		var launches []driver.Launch
		for i := range n {
			kernels, launches = append(kernels, k), append(launches, launchOf(widely(m, uint64(8*words*i), uint32(7*i), &values)))
		}
		wordsOf(t, s, m) // through stages, which are kept
		held := p.spy.count("memory")
		p.spy.fail(1, unknown, "allocateMemory")
		if _, err := s.Prepare(kernels, launches); !errors.Is(err, driver.ErrDriver) {
			t.Errorf("without memory for arguments: %v", err)
		}
		p.spy.Reset()
		values[3] = 5
		made, err := s.Prepare(kernels, launches)
		must(t, err)
		values[3] = 6
		for _, l := range launches {
			clear(l.Args)
		}
		for range 2 {
			must(t, s.Fill(all(m), driver.Pattern{Width: 4}), second(made.Enqueue()), second(made.Enqueue()))
			got := wordsOf(t, s, m)
			for i := range n {
				if w := got[2*words*i:]; w[0] != 0xfe || w[4] != uint32(7*i) || w[2*(3+3)] != 5 || w[2*19] != uint32(7*i) {
					t.Fatalf("launch %d: %#x", i, w[:2*words])
				}
			}
		}
		must(t, made.Close())
		if left := p.spy.count("memory"); left != held {
			t.Errorf("%d allocations of the driver are left of the arguments", left-held)
		}
	})
}

// A run that cannot be submitted has no effect, and spoils none that follows. Behind a gate the stream and its events report it.
func TestRunsThatFail(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		s := streamOf(t, d)
		m := memoryOf(t, d, driver.KindDevice, 12)
		must(t, s.Fill(all(m), driver.Pattern{Width: 4}))
		made, err := s.Prepare(adding(t, d, m))
		must(t, err)
		p.spy.fail(1, unknown, "submit")
		if n, err := made.Enqueue(); n != 0 || !errors.Is(err, driver.ErrDriver) {
			t.Errorf("%d, %v", n, err)
		}
		must(t, second(made.Enqueue()))
		g, err := s.Gate()
		must(t, err)
		e, _ := d.NewEvent(driver.EventOptions{})
		must(t, second(made.Enqueue()), s.Record(e))
		p.spy.fail(1, unknown, "submit")
		must(t, g.Open())
		if err := e.Sync(); !errors.Is(err, driver.ErrDriver) {
			t.Errorf("event: %v", err)
		}
		if err := s.Sync(); !errors.Is(err, driver.ErrDriver) {
			t.Errorf("sync: %v", err)
		}
		must(t, second(made.Enqueue()))
		if w := wordsOf(t, s, m); w[0] != 2 || w[2] != 112 {
			t.Errorf("after two runs: %d", w)
		}
		must(t, made.Close(), e.Close())
	})
}

// When the device is lost a run says so, and what was prepared is freed once the driver has let go of it.
func TestSequenceOfALostDevice(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		s := streamOf(t, d)
		m := memoryOf(t, d, driver.KindDevice, 160)
		k, err := loaded(t, d, unpacked(t, wideKernel)).Kernel("wide")
		must(t, err)
		made, err := s.Prepare([]driver.Kernel{k}, []driver.Launch{launchOf(widely(m, 0, 1, new([16]uint64)))})
		must(t, err)
		must(t, second(made.Enqueue()))
		p.spy.fail(1, deviceLost, "submit")
		for range 2 {
			if n, err := made.Enqueue(); n != 0 || !errors.Is(err, driver.ErrDeviceLost) {
				t.Errorf("%d, %v", n, err)
			}
		}
		waited := false
		idle := d.t.deviceWaitIdle
		d.t.deviceWaitIdle = func(device uintptr) status { waited = true; return idle(device) }
		destroy := d.t.destroyCommandPool
		d.t.destroyCommandPool = func(device, pool uintptr) {
			if !waited {
				t.Error("a command buffer is freed that the device may use")
			}
			destroy(device, pool)
		}
		must(t, made.Close())
		d.t.destroyCommandPool = destroy
	})
}

// Pipelines of a sequence are kept until it is closed, however many others the kernel needs.
func TestPipelinesOfSequencesAreKept(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		s := streamOf(t, d)
		m := memoryOf(t, d, driver.KindDevice, 12)
		must(t, s.Fill(all(m), driver.Pattern{Width: 4}))
		kernels, launches := adding(t, d, m)
		made, err := s.Prepare(kernels, launches)
		must(t, err)
		of := kernels[0].(*kernel)
		mine := of.pipelines[0]
		for i := range uint32(mostPipelines + 5) {
			l := launches[0]
			l.Block[0] = 2 + i
			must(t, s.Launch(of, &l), s.Sync())
		}
		if of.pipelines[0] != mine || len(of.pipelines) > mostPipelines {
			t.Errorf("the pipeline of the sequence is one of %d: %t", len(of.pipelines), of.pipelines[0] == mine)
		}
		must(t, second(made.Enqueue()))
		if w := wordsOf(t, s, m); w[2] != mostPipelines+5+111 {
			t.Errorf("%d", w)
		}
		must(t, made.Close())
		launches[0].Block[0] = 100
		must(t, s.Launch(of, &launches[0]), s.Sync())
		if of.pipelines[0] == mine {
			t.Error("the pipeline is kept when the sequence is closed")
		}
	})
}

// A run allocates nothing.
func TestRunDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	everyModel(t, func(t *testing.T, p at) {
		opened, err := newBackend(loadTable).with(p.opts).Open(t.Context(), p.ordinal) // without the spy, which allocates
		must(t, err)
		d := opened.(*device)
		t.Cleanup(func() { must(t, d.Close()) })
		s := streamOf(t, d)
		made, err := s.Prepare(adding(t, d, memoryOf(t, d, driver.KindDevice, 12)))
		must(t, err)
		must(t, second(made.Enqueue()), s.Sync())
		if n := testing.AllocsPerRun(200, func() { must(t, second(made.Enqueue())) }); n >= 1 {
			t.Errorf("%v allocations", n)
		}
		must(t, s.Sync(), made.Close())
	})
}
