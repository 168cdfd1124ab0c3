package wait

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
)

// fakeDevice is a driver whose work ends when the test says so.
type fakeDevice struct {
	driver.Device // nil: a call that is not replaced here fails the test
	events        []*fakeEvent
}

func (d *fakeDevice) NewEvent(driver.EventOptions) (driver.Event, error) {
	e := &fakeEvent{over: make(chan struct{})}
	d.events = append(d.events, e)
	return e, nil
}

// fakeEvent is done once over is closed. Then its answer to Query is err.
type fakeEvent struct {
	over            chan struct{}
	err             error
	asked, blocking atomic.Int32
	refusal         error // what Query answers until the event is over
	closed          bool
}

func (e *fakeEvent) Query() (bool, error) {
	e.asked.Add(1)
	select {
	case <-e.over:
		return true, e.err
	default:
		return false, e.refusal
	}
}

func (e *fakeEvent) Sync() error {
	e.blocking.Add(1)
	defer e.blocking.Add(-1)
	<-e.over
	return e.err
}

func (e *fakeEvent) Close() error {
	e.closed = true
	return nil
}

// end ends the event's work.
func (e *fakeEvent) end(err error) {
	e.err = err
	close(e.over)
}

// fakeStream is a stream whose work is that of the last event.
type fakeStream struct {
	driver.Stream
	last *fakeEvent
	err  error // of the next Query; a driver tells it once
}

func (s *fakeStream) Record(e driver.Event) error {
	s.last = e.(*fakeEvent)
	return nil
}

func (s *fakeStream) Query() (bool, error) {
	if s.err != nil {
		err := s.err
		s.err = nil
		return true, err
	}
	if s.last == nil {
		return true, nil
	}
	return s.last.Query()
}

func (s *fakeStream) Sync() error { return s.last.Sync() }

// outer is the stream of package hal, which has nothing to add.
type outer struct{}

func (outer) Stay()                 {}
func (outer) Leave()                {}
func (outer) Blame(err error) error { return err }

// setup returns a device and a stream of the fake driver.
func setup() (*Device, *Stream, *fakeStream) {
	d := &Device{Outer: func(*Event) {}}
	d.Init(&fakeDevice{}, driver.Info{Backend: "fake"}, life.FreesOf("fake"))
	s, drv := new(Stream), new(fakeStream)
	s.Init(d, drv, outer{})
	return d, s, drv
}

// record records an event and returns it, and the driver's.
func record(t *testing.T, s *Stream) (*Event, *fakeEvent) {
	e, err := s.Event(false)
	require.NoError(t, err)
	return e, e.drv.(*fakeEvent)
}

func failed(kind error) error { return &driver.Error{Op: "work", Device: -1, Kind: kind} }

// A wait ends with its context, and says so. The event is as before: it can be waited for again, and then has the error of its work.
func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, _ := setup()
		e, drv := record(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		over, err := e.Wait(ctx, "wait")
		assert.False(t, over)
		assert.ErrorIs(t, err, driver.ErrNotReady)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		drv.end(failed(driver.ErrDriver))
		over, err = e.Wait(t.Context(), "wait")
		assert.True(t, over)
		assert.ErrorIs(t, err, driver.ErrDriver)
		e.Release()
		synctest.Wait()
	})
}

// However many goroutines wait for however many events, a few calls of the driver block: one for an event at most, watchBlocked in all.
func TestFewWaitsBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s, _ := setup()
		var list []*Event
		var group sync.WaitGroup
		var wrong atomic.Int32
		for range 3 * watchBlocked {
			e, _ := record(t, s)
			list = append(list, e)
			for range 5 {
				group.Go(func() {
					if over, err := e.Wait(t.Context(), "wait"); !over || err != nil {
						wrong.Add(1)
					}
				})
			}
		}
		for i := range list {
			synctest.Wait()
			total := int32(0)
			for _, e := range list {
				n := e.drv.(*fakeEvent).blocking.Load()
				assert.LessOrEqual(t, n, int32(1))
				total += n
			}
			assert.LessOrEqual(t, total, int32(watchBlocked))
			list[i].drv.(*fakeEvent).end(nil)
		}
		group.Wait()
		assert.Zero(t, wrong.Load())
		for _, e := range list {
			e.Release()
		}
		synctest.Wait() // for the goroutines that have a reference of the watch
		require.NoError(t, d.EndEvents())
		for _, e := range d.Drv.(*fakeDevice).events {
			assert.True(t, e.closed)
		}
	})
}

// A function is called once, with the result, whether the event ends before or after it was given.
func TestOnDoneIsCalledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, _ := setup()
		e, drv := record(t, s)
		var told []error
		var mu sync.Mutex
		note := func(err error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, err)
		}
		e.OnDone(note)
		time.Sleep(time.Second)
		assert.Empty(t, told)
		drv.end(failed(driver.ErrDriver))
		time.Sleep(time.Second)
		e.OnDone(note)
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, told, 2)
		for _, err := range told {
			assert.ErrorIs(t, err, driver.ErrDriver)
		}
		e.Release()
	})
}

// A driver may fail to answer for a while. If it goes on, the device counts as lost, and later calls say that without asking.
func TestPatienceWithADriver(t *testing.T) {
	for _, row := range []struct {
		questions int
		lost      bool
	}{{patience - 1, false}, {patience, true}} {
		d, s, _ := setup()
		e, drv := record(t, s)
		drv.refusal = errors.New("busy")
		for range row.questions - 1 {
			done, err := e.Done()
			require.False(t, done)
			require.NoError(t, err)
		}
		done, err := e.Done()
		assert.Equal(t, row.lost, done)
		assert.Equal(t, row.lost, errors.Is(err, driver.ErrDeviceLost))
		assert.Equal(t, row.lost, d.Lost() != nil)
	}
}

// The driver tells a failure once. Whoever asked, the program's next Done has it, once.
func TestAFailureIsKeptForTheProgram(t *testing.T) {
	for name, ask := range map[string]func(*Stream){
		"Idle": func(s *Stream) { s.Idle() },
		"Peek": func(s *Stream) { _, _ = s.Peek() },
		"Keep": func(s *Stream) {
			for range heldMany + 1 {
				s.Keep(nil, 1)
			}
		},
		"nobody": func(*Stream) {},
	} {
		_, s, drv := setup()
		drv.err = failed(driver.ErrDriver)
		ask(s)
		done, err := s.Done()
		assert.True(t, done, name)
		assert.ErrorIs(t, err, driver.ErrDriver, name)
		done, err = s.Done()
		assert.True(t, done, name)
		assert.NoError(t, err, name)
	}
}

// Spare events follow the number in use: what a burst needed is given back after a while, and a steady load makes no new ones.
func TestSpareEventsAreBounded(t *testing.T) {
	d, s, _ := setup()
	use := func(n int) {
		var list []*Event
		for range n {
			e, drv := record(t, s)
			if len(list) == 0 || !slices.Contains(list, e) {
				list = append(list, e)
			}
			select {
			case <-drv.over:
			default:
				drv.end(nil)
			}
		}
		for _, e := range list {
			e.Release()
		}
	}
	spare := func() int { return len(d.events.spare[0]) + len(d.events.spare[1]) }
	use(1000)
	assert.Equal(t, 1000, spare())
	for range 5000 {
		use(10)
	}
	assert.LessOrEqual(t, spare(), eventsLeast)
	made := len(d.Drv.(*fakeDevice).events)
	for range 1000 {
		use(10)
	}
	assert.Len(t, d.Drv.(*fakeDevice).events, made, "events that a steady load needs are made again")
	d.TrimEvents()
	assert.Zero(t, spare())
}
