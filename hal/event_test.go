package hal_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// counting is a host backend that counts what is done with events, and whose events fail when told to.
type counting struct {
	hooked.Backend
	gateless bool

	open, queries, unrecorded atomic.Int32 // events, questions, questions about events that were not recorded
	syncs, most               atomic.Int32 // calls that block, now and at most
	fail                      atomic.Pointer[error]
	stream                    *hooked.Stream // made last
}

var errRecord, errWork = errors.New("no record"), errors.New("the work failed")

func newCounting(name string) *counting {
	b := &counting{Backend: hooked.Backend{Backend: host.New(host.Options{Name: name, Discrete: 1})}}
	b.Info = func(i driver.Info) driver.Info {
		if b.gateless {
			i.Caps &^= hal.CapGate
		}
		return i
	}
	b.NewStream = func(d *hooked.Device, o driver.StreamOptions) (*hooked.Stream, error) {
		s, err := d.PlainNewStream(o)
		if err == nil {
			s.Data = new(error) // that its next Sync returns
			b.stream = s
		}
		return s, err
	}
	b.NewEvent = func(d *hooked.Device, o driver.EventOptions) (*hooked.Event, error) {
		e, err := d.PlainNewEvent(o)
		if err == nil {
			b.open.Add(1)
			e.Data = new(atomic.Bool) // recorded
		}
		return e, err
	}
	b.Sync = func(s *hooked.Stream) error {
		fault := s.Data.(*error)
		err := *fault
		*fault = nil
		return errors.Join(err, s.Stream.Sync())
	}
	b.Record = func(s *hooked.Stream, e *hooked.Event) error {
		if err := b.failure(); errors.Is(err, errRecord) {
			return err
		}
		e.Data.(*atomic.Bool).Store(true)
		return s.Stream.Record(e.Event)
	}
	b.QueryEvent = func(e *hooked.Event) (bool, error) {
		b.asked(e)
		done, err := e.Event.Query()
		if done && err == nil {
			err = b.failure()
		}
		return done, err
	}
	b.SyncEvent = func(e *hooked.Event) error {
		b.asked(e)
		n := b.syncs.Add(1)
		for old := b.most.Load(); n > old && !b.most.CompareAndSwap(old, n); old = b.most.Load() {
		}
		err := e.Event.Sync()
		b.syncs.Add(-1)
		if err == nil {
			err = b.failure()
		}
		return err
	}
	b.CloseEvent = func(e *hooked.Event) error { b.open.Add(-1); return e.Event.Close() }
	return b
}

func (b *counting) failure() error {
	if p := b.fail.Load(); p != nil {
		return *p
	}
	return nil
}

func (b *counting) asked(e *hooked.Event) {
	b.queries.Add(1)
	if !e.Data.(*atomic.Bool).Load() {
		b.unrecorded.Add(1)
	}
}

// ending is a context that has not ended the first times it is asked, and has when somebody waits.
type ending struct {
	context.Context
	asked int
}

var ended = func() chan struct{} { ch := make(chan struct{}); close(ch); return ch }()

func (c *ending) Done() <-chan struct{} { return ended }

func (c *ending) Err() error {
	if c.asked > 0 {
		c.asked--
		return nil
	}
	return context.DeadlineExceeded
}

// givesUp ends once a call has found so many times that it has not ended.
func givesUp(times int) context.Context { return &ending{context.Background(), times} }

func openCounting(t *testing.T, b *counting) *hal.Device {
	t.Helper()
	d, err := hal.OpenWith(ctx, b, 1)
	require.NoError(t, err)
	return d
}

func TestSharedEventOutlivesItsDevice(t *testing.T) {
	b := newCounting("gone")
	d := openCounting(t, b)
	other := openHost(t, 1, 1)
	w := newStream(t, other)
	s, err := d.NewStream()
	require.NoError(t, err)
	g, err := s.Gate()
	require.NoError(t, err)
	good, err := layer.RecordShared(s)
	require.NoError(t, err)
	layer.Retain(good)
	e, err := s.Record()
	require.NoError(t, err)
	const many = 20 // of which most are asked in turn
	var calls atomic.Int32
	for range many {
		m, err := layer.RecordShared(s)
		require.NoError(t, err)
		require.NoError(t, m.OnDone(func(err error) {
			if err == nil {
				calls.Add(1)
			}
		}))
		m.Close()
	}
	waiting := make(chan error)
	go func() { waiting <- good.Sync(ctx) }()
	require.NoError(t, g.Signal())
	require.NoError(t, s.Close())
	require.NoError(t, e.Close())
	require.NoError(t, d.Close())
	require.EqualValues(t, many, calls.Load(), "closing comes to what waits")
	require.NoError(t, <-waiting)
	require.Zero(t, b.open.Load())
	asked := b.queries.Load()
	for range 2 {
		done, err := good.Done()
		require.NoError(t, err)
		require.True(t, done)
		require.NoError(t, good.Sync(ctx))
		require.True(t, layer.CanDefer(w, good))
		require.NoError(t, w.WaitEvent(good))
		later := make(chan error)
		require.NoError(t, good.OnDone(func(err error) { later <- err }))
		require.NoError(t, <-later)
		good.Close()
	}
	require.Equal(t, asked, b.queries.Load(), "asked after the driver's device was closed")
	require.ErrorIs(t, s.WaitEvent(good), hal.ErrClosed)
}

// How work has failed is not forgotten, be it that the driver tells only once.
func TestEventKeepsItsError(t *testing.T) {
	b := newCounting("failing")
	d := openCounting(t, b)
	s, err := d.NewStream()
	require.NoError(t, err)
	byDone, err := layer.RecordShared(s)
	require.NoError(t, err)
	bySync, err := layer.RecordShared(s)
	require.NoError(t, err)
	fine, err := layer.RecordShared(s)
	require.NoError(t, err)
	unseen, err := layer.RecordShared(s)
	require.NoError(t, err)
	b.fail.Store(&errWork)
	done, err := byDone.Done()
	require.True(t, done)
	require.ErrorIs(t, err, errWork)
	require.ErrorIs(t, bySync.Sync(ctx), errWork)
	b.fail.Store(nil)
	for _, m := range []*hal.Event{byDone, bySync} {
		done, err := m.Done()
		require.True(t, done)
		require.ErrorIs(t, err, errWork)
		require.ErrorIs(t, m.Sync(ctx), errWork)
		require.ErrorIs(t, m.Sync(givesUp(1)), errWork)
		told := make(chan error)
		require.NoError(t, m.OnDone(func(err error) { told <- err }))
		require.ErrorIs(t, <-told, errWork)
	}
	require.NoError(t, fine.Sync(ctx))
	for !layer.RecordAgain(s, byDone) { // the last call of OnDone lets go of it soon
		runtime.Gosched()
	}
	require.NoError(t, byDone.Sync(ctx), "another recording")
	b.fail.Store(&errWork)
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
	require.ErrorIs(t, unseen.Sync(ctx), errWork, "found when the device was closed")
	require.NoError(t, fine.Sync(ctx))
}

// Waits that are given up leave nothing behind, and all who wait block in few of the driver's calls.
func TestWaitsThatAreGivenUpLeaveNothing(t *testing.T) {
	const n = 100_000
	b := newCounting("held")
	d := openCounting(t, b)
	s, err := d.NewStream()
	require.NoError(t, err)
	closed, err := d.NewStream()
	require.NoError(t, err)
	shut, err := closed.Gate()
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	g, err := s.Gate()
	require.NoError(t, err)
	m, err := layer.RecordShared(s)
	require.NoError(t, err)
	e, err := s.Record()
	require.NoError(t, err)
	before := runtime.NumGoroutine()
	for name, wait := range map[string]func() error{
		"shared":  func() error { return m.Sync(givesUp(1)) },
		"event":   func() error { return e.Sync(givesUp(1)) },
		"stream":  func() error { return s.Sync(givesUp(2)) },
		"drain":   func() error { return layer.Drain(closed, givesUp(1)) },
		"reclaim": func() error { return d.Reclaim(givesUp(1)) },
	} {
		for range n {
			if err := wait(); !errors.Is(err, hal.ErrNotReady) || !errors.Is(err, context.DeadlineExceeded) {
				require.FailNow(t, name, "%v", err)
			}
		}
		fixture.Goroutines(t, before+8, name)
		require.LessOrEqual(t, b.open.Load(), int32(128), "%s: events", name)
	}
	require.NoError(t, g.Signal())
	require.NoError(t, shut.Signal())
	require.NoError(t, m.Sync(ctx))
	m.Close()
	require.NoError(t, e.Close())
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
	require.LessOrEqual(t, b.most.Load(), int32(4))
	require.Zero(t, b.open.Load())
}

// Goroutines that wait for different events, and streams of another backend that do, block in few of the driver's calls.
func TestManyWaitsBlockInFewCalls(t *testing.T) {
	const n = 10_000
	b := newCounting("many")
	d := openCounting(t, b)
	other := openHost(t, 1, 1)
	s, err := d.NewStream()
	require.NoError(t, err)
	g, err := s.Gate()
	require.NoError(t, err)
	before := runtime.NumGoroutine()
	var streams [100]*hal.Stream
	for i := range streams {
		streams[i] = newStream(t, other)
	}
	for i := range n {
		require.NoError(t, streams[i%len(streams)].WaitStream(s))
	}
	fixture.Goroutines(t, before+8)
	var wg sync.WaitGroup
	for range n {
		m, err := layer.RecordShared(s)
		require.NoError(t, err)
		wg.Go(func() {
			defer m.Close()
			if err := m.Sync(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	require.NoError(t, g.Signal())
	wg.Wait()
	for _, w := range streams {
		require.NoError(t, w.Sync(ctx))
	}
	require.LessOrEqual(t, b.most.Load(), int32(4))
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
}

// Events that are no longer used go back to the driver, by later use or by Reclaim.
func TestSpareEventsAreBounded(t *testing.T) {
	const many = 5000
	b := newCounting("spare")
	d := openCounting(t, b)
	s, err := d.NewStream()
	require.NoError(t, err)
	burst := func() {
		var events []*hal.Event
		for range many {
			m, err := layer.RecordShared(s)
			require.NoError(t, err)
			events = append(events, m)
		}
		require.EqualValues(t, many, b.open.Load())
		for _, m := range events {
			m.Close()
		}
	}
	burst()
	burst()
	require.EqualValues(t, many, b.open.Load(), "kept while they are used again and again")
	for range 5 * many {
		m, err := layer.RecordShared(s)
		require.NoError(t, err)
		m.Close()
	}
	require.LessOrEqual(t, b.open.Load(), int32(64))
	burst()
	require.NoError(t, d.Reclaim(ctx))
	require.Zero(t, b.open.Load())
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
}

// A driver is not asked about an event that was never recorded.
func TestEventsThatCouldNotBeRecordedAreNotAsked(t *testing.T) {
	b := newCounting("blank")
	d := openCounting(t, b)
	s, err := d.NewStream()
	require.NoError(t, err)
	b.fail.Store(&errRecord)
	_, err = s.Record()
	require.ErrorIs(t, err, errRecord)
	_, err = layer.RecordShared(s)
	require.ErrorIs(t, err, errRecord)
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
	require.Zero(t, b.unrecorded.Load())
	require.Zero(t, b.open.Load())
}

// Where a device cannot hold a stream shut, a wait for another backend is a wait of the caller's.
func TestWaitsWithoutGatesBlock(t *testing.T) {
	b := newCounting("gateless")
	b.gateless = true
	d := openCounting(t, b)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	watched := newCounting("waited for")
	other := openCounting(t, watched)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	w := newStream(t, d)
	dst, src := newMemory(t, d, 64), newMemory(t, other, 64)
	for name, wait := range map[string]func(s *hal.Stream, e *hal.Event) error{
		"shared": func(_ *hal.Stream, e *hal.Event) error {
			e = layer.Retain(e)
			defer e.Close()
			return w.WaitEvent(e)
		},
		"event":  func(_ *hal.Stream, e *hal.Event) error { return w.WaitEvent(e) },
		"follow": func(s *hal.Stream, _ *hal.Event) error { return w.WaitStream(s) },
		"closed": func(s *hal.Stream, _ *hal.Event) error { _ = s.Close(); return w.WaitStream(s) },
		"copy":   func(s *hal.Stream, _ *hal.Event) error { return hal.CopyPeer(w, dst.All(), s, src.All()) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStream(t, other)
			g, err := s.Gate()
			require.NoError(t, err)
			require.NoError(t, s.Fill(src.All(), hal.Pattern8(7)))
			m, err := s.Record()
			require.NoError(t, err)
			defer m.Close()
			require.False(t, layer.CanDefer(w, m))
			require.True(t, layer.CanDefer(s, m))
			over := make(chan error, 1)
			var before atomic.Bool
			go func() {
				err := wait(s, m)
				done, _ := m.Done()
				before.Store(!done)
				over <- err
			}()
			if name != "closed" {
				require.Eventually(t, func() bool { return watched.syncs.Load() > 0 }, 10*time.Second, time.Millisecond)
			}
			require.NoError(t, g.Signal())
			require.NoError(t, <-over)
			require.False(t, before.Load(), "it returned before the work had ended")
			require.NoError(t, m.Sync(ctx))
			require.True(t, layer.CanDefer(w, m))
		})
	}
	got := make([]byte, 64)
	require.NoError(t, w.Sync(ctx))
	require.NoError(t, d.Read(ctx, got, dst.All()))
	require.EqualValues(t, 7, got[63])
}

// Who watches an event is told before the device is closed, also while another waits for it.
func TestCloseComesToWhoWatchesAnEventThatOthersWaitFor(t *testing.T) {
	for range 50 {
		d := openNamed(t, "here", 0, 0)
		s := openStream(t, d)
		g, err := s.Gate()
		require.NoError(t, err)
		m, err := layer.RecordShared(s)
		require.NoError(t, err)
		synced := make(chan error)
		go func() { synced <- m.Sync(context.Background()) }()
		for range 1000 {
			runtime.Gosched() // so that it comes to block
		}
		told := make(chan error, 1)
		require.NoError(t, m.OnDone(func(err error) { told <- err }))
		require.NoError(t, s.Close())
		require.NoError(t, g.Signal())
		require.NoError(t, d.Close())
		n := len(told)
		require.NoError(t, <-synced)
		require.Equal(t, 1, n, "told before the device is closed")
	}
}

// Close may be called again, also when the vendor's event has been recorded for another Event since.
func TestClosingAnEventAgainLeavesOthersAlone(t *testing.T) {
	b := newCounting("again")
	d := openCounting(t, b)
	s := openStream(t, d)
	first, err := s.Record()
	require.NoError(t, err)
	require.NoError(t, first.Close())
	g, err := s.Gate()
	require.NoError(t, err)
	second, err := s.Record()
	require.NoError(t, err)
	require.EqualValues(t, 1, b.open.Load(), "the vendor's event is used again")
	for range 3 {
		require.NoError(t, first.Close())
	}
	third, err := s.Record()
	require.NoError(t, err)
	require.EqualValues(t, 2, b.open.Load(), "the second event has its own")
	_, err = first.Done()
	require.ErrorIs(t, err, hal.ErrClosed)
	require.Nil(t, layer.Retain(first))
	require.ErrorIs(t, first.OnDone(func(error) {}), hal.ErrClosed)
	done, err := second.Done()
	require.NoError(t, err)
	require.False(t, done)
	require.NoError(t, g.Signal())
	require.NoError(t, second.Sync(ctx))
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
	require.Zero(t, b.open.Load())
}

// A shared reference keeps the event for itself, whatever the program does with its own.
func TestRetainOutlivesClose(t *testing.T) {
	b := newCounting("retained")
	d := openCounting(t, b)
	s := openStream(t, d)
	g, err := s.Gate()
	require.NoError(t, err)
	e, err := s.Record()
	require.NoError(t, err)
	kept := layer.Retain(e)
	require.Same(t, kept, layer.Retain(kept))
	require.NoError(t, e.Close())
	require.NoError(t, e.Close())
	require.False(t, layer.RecordAgain(s, kept), "there are two references")
	require.NoError(t, kept.Close())
	other, err := s.Record()
	require.NoError(t, err)
	require.EqualValues(t, 2, b.open.Load(), "the vendor's event is in use")
	require.True(t, layer.RecordAgain(s, other), "it is the program's alone")
	require.NoError(t, g.Signal())
	require.NoError(t, kept.Sync(ctx))
	require.Eventually(t, func() bool { return layer.RecordAgain(s, kept) }, 10*time.Second, time.Millisecond)
	require.NoError(t, kept.Close())
	require.NoError(t, other.Close())
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
	require.Zero(t, b.open.Load())
}

// A program's loop can use one event for every round, without an allocation.
func TestRecordAgainMovesTheEvent(t *testing.T) {
	d, elsewhere := openHost(t, 1, 1), openHost(t, 1, 1)
	s, far := newStream(t, d), newStream(t, elsewhere)
	e, err := s.Record()
	require.NoError(t, err)
	require.NoError(t, e.Sync(ctx))
	g, err := s.Gate()
	require.NoError(t, err)
	require.True(t, layer.RecordAgain(s, e))
	done, err := e.Done()
	require.NoError(t, err)
	require.False(t, done, "the event stands for what is behind the gate")
	require.False(t, layer.RecordAgain(far, e), "a stream of another device")
	require.NoError(t, g.Signal())
	require.NoError(t, e.Sync(ctx))
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = layer.RecordAgain(s, e) }))
	require.NoError(t, e.Close())
	require.False(t, layer.RecordAgain(s, e), "it is closed")
}

// Only what the program itself recorded is reported when it is not closed.
func TestSharedEventsAreNotReported(t *testing.T) {
	leaks := make(chan hal.Leak, 16)
	previous := hal.SetLeakHandler(func(l hal.Leak) { leaks <- l })
	defer func() { hal.SetLeakHandler(previous) }()
	d := openHost(t, 1, 1)
	s := newStream(t, d)
	func() {
		_, err := layer.RecordShared(s)
		require.NoError(t, err)
		_, err = s.Record()
		require.NoError(t, err)
	}()
	var first hal.Leak
	require.Eventually(t, func() bool {
		runtime.GC()
		select {
		case first = <-leaks:
			return true
		default:
			return false
		}
	}, 10*time.Second, time.Millisecond)
	require.Equal(t, hal.Leak{Object: "event", Device: d.Name()}, first)
	runtime.GC()
	runtime.GC()
	require.Empty(t, leaks)
}

// A function of OnDone that ends its goroutine ends nothing else. One that panics ends the process, which says so.
func TestFunctionsOfOnDoneThatDoNotReturn(t *testing.T) {
	const inside = "HALYARD_TEST_ONDONE"
	for _, how := range []string{"Goexit", "panic"} {
		if os.Getenv(inside) == "" { // the watch is a goroutine of the library
			child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
			child.Env = append(os.Environ(), inside+"="+how)
			said, err := child.CombinedOutput()
			require.Equal(t, how == "panic", err != nil, "%s", said)
			if how == "panic" {
				require.Regexp(t, `(?m)^panic: the work failed\b`, string(said))
			}
		}
	}
	how := os.Getenv(inside)
	if how == "" {
		return
	}
	d, err := hal.OpenWith(ctx, host.New(host.Options{Name: "leaving", Discrete: 1}), 1)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	for range 3 {
		g, err := s.Gate()
		require.NoError(t, err)
		e, err := s.Record()
		require.NoError(t, err)
		require.NoError(t, e.OnDone(func(error) {
			if how == "panic" {
				panic(errWork)
			}
			runtime.Goexit()
		}))
		next := make(chan error, 1)
		require.NoError(t, e.OnDone(func(err error) { next <- err }))
		require.NoError(t, g.Signal())
		require.NoError(t, <-next)
		require.NoError(t, errors.Join(s.Sync(ctx), e.Close()))
	}
	require.NoError(t, errors.Join(s.Close(), d.Close()))
}

// The last Close of a device reports what the driver says when it closes the events that were kept for reuse.
func TestCloseReportsTheErrorsOfEvents(t *testing.T) {
	why := &driver.Error{Op: "close event", Backend: "host", Kind: driver.ErrDriver}
	b := &hooked.Backend{Backend: host.New(host.Options{}), CloseEvent: func(e *hooked.Event) error { return cmp.Or(e.Event.Close(), error(why)) }}
	d, err := hal.OpenWith(ctx, b, 0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	e, err := s.Record()
	require.NoError(t, err)
	require.NoError(t, hal.CloseAll(e, s))
	require.ErrorIs(t, d.Close(), why)
}
