//go:build vulkan

package vulkan

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

// gathering is a device on which launches gather: a launch of the kernel is known to be brief, and four submissions, of a fill each, are
// not done.
type gathering struct {
	t      *testing.T
	m      *mock
	d      *device
	s      *stream
	mem    *memory
	k      driver.Kernel
	before int // submissions until then
}

func newGathering(t *testing.T, queues uint32) *gathering {
	t.Setenv("HALYARD_KERNEL_CACHE", "off")
	m := newMock(rand.New(rand.NewPCG(1, 7)))
	m.queues, m.slow = queues, true
	b := newBackend(func() (*table, error) { return m.table(), nil }).with(options{Memory: modelDiscrete})
	opened, err := b.Open(t.Context(), 0)
	must(t, err)
	g := &gathering{t: t, m: m, d: opened.(*device)}
	t.Cleanup(func() {
		must(t, g.d.Close())
		for _, name := range m.made {
			if name != "allocateCommandBuffer" { // they go with their pool
				t.Errorf("left behind: an object of %s", name)
			}
		}
	})
	g.s = streamOf(t, g.d)
	g.mem = memoryOf(t, g.d, driver.KindDevice, 1<<10).(*memory)
	mod, err := g.d.Load(&driver.Image{Format: driver.FormatVulkan, Data: suiteKernels(t)})
	must(t, err)
	t.Cleanup(func() { must(t, mod.Close()) })
	g.k, err = mod.Kernel("put")
	must(t, err)
	for brief := false; !brief; { // more than once if the test itself gets no processor meanwhile
		must(t, g.launch(1))
		m.finish(g.s, g.s.q.last.Load())
		p := g.k.(*kernel).pipelines[0]
		g.until(func() bool { return !p.timed.Load() })
		brief = p.brief.Load() == 1
	}
	for range enoughToDo {
		must(t, g.fill())
	}
	g.before = len(m.submitted)
	return g
}

func (g *gathering) launch(blocks uint32) error {
	return g.s.Launch(g.k, &driver.Launch{Grid: [3]uint32{blocks, 1, 1}, Block: [3]uint32{1, 1, 1}, Args: putting(g.mem, 0, 1, 1)})
}

func (g *gathering) fill() error { return g.s.Fill(all(g.mem), driver.Pattern{Bits: 1, Width: 1}) }

// until waits for other goroutines.
func (g *gathering) until(what func() bool) {
	for !what() {
		if g.t.Context().Err() != nil {
			g.t.FailNow()
		}
		runtime.Gosched()
	}
}

// more returns what has been submitted since launches gather.
func (g *gathering) more() []string {
	g.m.mu.Lock()
	defer g.m.mu.Unlock()
	return slices.Clone(g.m.submitted[g.before:])
}

// end has all work done, and waits for it.
func (g *gathering) end() {
	g.t.Helper()
	g.m.mu.Lock()
	g.m.slow = false
	for at := range g.m.done {
		g.m.done[at] = 1 << 20
	}
	g.m.finished.Broadcast()
	g.m.mu.Unlock()
	must(g.t, g.s.Sync())
}

// Launches gather while the device has enough to do, and are submitted together. What is not known to be brief does not gather.
func TestLaunchesGather(t *testing.T) {
	g := newGathering(t, 1)
	for range 2*mostGathered + 1 {
		must(t, g.launch(1))
	}
	full := strings.Repeat("l|", mostGathered)
	if got := g.more(); !slices.Equal(got, []string{full, full}) {
		t.Errorf("submitted: %q", got)
	}
	must(t, g.launch(2)) // nobody knows how long two blocks take
	must(t, g.launch(2))
	if got := g.more()[2:]; !slices.Equal(got, []string{"l|l|", "l|"}) {
		t.Errorf("submitted after launches of more blocks: %q", got)
	}
	g.end()
	g.until(func() bool {
		g.s.q.mu.Lock()
		defer g.s.q.mu.Unlock()
		return !g.s.q.watched
	})
	before := len(g.more())
	must(t, g.launch(1), g.launch(1))
	if got := g.more()[before:]; !slices.Equal(got, []string{"l|", "l|"}) {
		t.Errorf("submitted to a device without work: %q", got)
	}
	g.end()
}

// Whatever may wait for a launch that has gathered submits it.
func TestWhatSubmits(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(g *gathering, e driver.Event)
		want string
	}{
		{"a wait for the event", func(g *gathering, e driver.Event) { go func() { _ = e.Sync() }() }, "l|l|"},
		{"a wait for the stream", func(g *gathering, _ driver.Event) { go func() { _ = g.s.Sync() }() }, "l|l|"},
		{"a function to call", func(g *gathering, _ driver.Event) { must(g.t, g.s.OnDone(func() {})) }, "l|l|"},
		{"other work", func(g *gathering, _ driver.Event) { must(g.t, g.fill()) }, "l|l|f|"},
		{"another stream's work", func(g *gathering, _ driver.Event) {
			s := streamOf(g.t, g.d) // of the second queue
			third := streamOf(g.t, g.d)
			must(g.t, s.Close(), third.Fill(all(g.mem), driver.Pattern{Bits: 1, Width: 1}))
		}, "l|l|f|"},
		{"another queue's wait", func(g *gathering, e driver.Event) { must(g.t, streamOf(g.t, g.d).Wait(e)) }, "l|l| -"},
		{"a sequence", func(g *gathering, _ driver.Event) {
			made, err := g.s.Prepare([]driver.Kernel{g.k}, []driver.Launch{launchOf(putting(g.mem, 0, 1, 1))})
			must(g.t, err, second(made.Enqueue()))
			g.t.Cleanup(func() { must(g.t, made.Close()) })
		}, "l|l| -"},
		{"nothing, and the device has little left to do", func(g *gathering, _ driver.Event) {
			g.m.finish(g.s, g.s.q.last.Load()-enoughToDo+1)
		}, "l|l|"},
		{"a question, and the device has nothing left to do", func(g *gathering, e driver.Event) {
			q := g.s.q
			g.m.finish(g.s, q.last.Load())
			g.until(func() bool {
				q.mu.Lock()
				defer q.mu.Unlock()
				return !q.watched
			})
			q.watched = true // so that nothing else submits
			must(g.t, g.launch(1), g.s.Record(e))
			g.m.finish(g.s, q.last.Load())
			if done, err := e.Query(); done || err != nil {
				g.t.Errorf("what has gathered is done: %t, %v", done, err)
			}
		}, "l|l| l|"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := newGathering(t, 2)
			e, err := g.d.NewEvent(driver.EventOptions{})
			must(t, err, g.launch(1), g.launch(1), g.s.Record(e))
			if done, err := e.Query(); done || err != nil || len(g.more()) > 0 {
				t.Fatalf("before: %t, %v; submitted: %q", done, err, g.more())
			}
			row.do(g, e)
			g.until(func() bool { return len(g.more()) > strings.Count(row.want, " ") })
			if got := strings.Join(g.more(), " "); got != row.want {
				t.Errorf("submitted: %q; want %q", got, row.want)
			}
			g.end()
			must(t, e.Sync())
		})
	}
}

// A submission that fails leaves the launches for the next, and the call that submits returns the error. A launch that was refused is not
// among them.
func TestGatheredLaunchesAreKept(t *testing.T) {
	g := newGathering(t, 1)
	for range mostGathered - 1 {
		must(t, g.launch(1))
	}
	refuse := func(n int) {
		g.m.mu.Lock()
		g.m.refuses = slices.Repeat([]status{unknown}, n)
		g.m.mu.Unlock()
	}
	refuse(3)
	for what, err := range map[string]error{"a launch": g.launch(1), "a fill": g.fill(), "a wait": g.s.Sync()} {
		if !errors.Is(err, driver.ErrDriver) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := g.more(); len(got) > 0 {
		t.Errorf("submitted: %q", got)
	}
	refuse(2) // and then without being asked
	g.m.finish(g.s, g.s.q.last.Load())
	g.until(func() bool { return len(g.more()) > 0 })
	if got := g.more(); !slices.Equal(got, []string{strings.Repeat("l|", mostGathered-1)}) {
		t.Errorf("submitted: %q", got)
	}
	g.end()
}

// If the device is lost, everybody is told, and nobody waits for what has gathered.
func TestGatheredLaunchesOfALostDevice(t *testing.T) {
	g := newGathering(t, 1)
	e, err := g.d.NewEvent(driver.EventOptions{})
	must(t, err, g.launch(1), g.s.Record(e))
	g.m.mu.Lock()
	g.m.refuses = []status{deviceLost}
	g.m.mu.Unlock()
	g.m.finish(g.s, g.s.q.last.Load())
	g.until(func() bool { return g.d.lost.Load() != nil })
	done, asked := e.Query()
	if !done {
		t.Error("the event is not done")
	}
	for what, err := range map[string]error{"query": asked, "wait": e.Sync(), "sync": g.s.Sync(), "launch": g.launch(1)} {
		if !errors.Is(err, driver.ErrDeviceLost) {
			t.Errorf("%s: %v", what, err)
		}
	}
	g.m.finish(g.s, 1<<20)
}

// Launches, fills and copies of streams that wait for one another do what they do one by one.
func TestGatheredLaunchesInOrder(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		ss := []*stream{streamOf(t, d), streamOf(t, d)}
		m, other := memoryOf(t, d, driver.KindDevice, 12), memoryOf(t, d, driver.KindDevice, 12)
		kernels, launches := adding(t, d, m)
		e, err := d.NewEvent(driver.EventOptions{})
		must(t, err, ss[0].Fill(all(m), driver.Pattern{Width: 4}), ss[0].Fill(all(other), driver.Pattern{Width: 4}))
		rng := rand.New(rand.NewPCG(3, 7))
		var want, copied [3]uint32
		for range 3000 {
			s := ss[0]
			switch rng.IntN(40) {
			case 0:
				must(t, s.Fill(driver.Region{Mem: m, Off: 4, Len: 4}, driver.Pattern{Bits: 3, Width: 4}))
				want[1] = 3
			case 1:
				must(t, s.Copy(all(other), all(m)))
				copied = want
			case 2:
				must(t, s.Copy(all(m), all(other)))
				want = copied
			case 3:
				must(t, s.Record(e), ss[1].Wait(e))
				ss[0], ss[1] = ss[1], ss[0]
			case 4:
				must(t, s.Record(e))
				for done := false; !done; {
					done, err = e.Query()
					must(t, err)
				}
			default:
				must(t, s.Launch(kernels[0], &launches[0]), s.Launch(kernels[1], &launches[1]), s.Launch(kernels[2], &launches[2]))
				want[0]++
				want[1] = want[0] + 10
				want[2] = want[1] + 100
			}
		}
		if got := wordsOf(t, ss[0], m); !slices.Equal(got, want[:]) {
			t.Errorf("got %d, want %d", got, want)
		}
		if got := wordsOf(t, ss[0], other); !slices.Equal(got, copied[:]) {
			t.Errorf("the copy is %d, want %d", got, copied)
		}
		if q := ss[0].q; q.last.Load() > 6000 {
			t.Logf("%d submissions", q.last.Load())
		}
	})
}
