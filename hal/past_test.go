package hal_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// waited is a device whose driver's waits are counted, and streams of it on which nothing ends before the test does.
func waited(t *testing.T, streams int, wait func(*hooked.Stream, *hooked.Event)) []*hal.Stream {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "past", Discrete: 1})}
	b.Wait = func(s *hooked.Stream, e *hooked.Event) error {
		wait(s, e)
		return s.Stream.Wait(e.Event)
	}
	d := fixture.Device(t, b, 1)
	var list []*hal.Stream
	for range streams {
		s := fixture.Stream(t, d)
		g, err := s.Gate()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, g.Signal()) })
		list = append(list, s)
	}
	return list
}

func recorded(t *testing.T, s *hal.Stream) *hal.Event {
	e, err := s.RecordShared()
	require.NoError(t, err)
	return e
}

// A stream is not made to wait for what it waits for by way of another.
func TestWhatIsWaitedForByWayOfOthersIsNotWaitedFor(t *testing.T) {
	waits := 0
	s := waited(t, 3, func(*hooked.Stream, *hooked.Event) { waits++ })
	step := func(on *hal.Stream, target *hal.Event, want int) {
		t.Helper()
		before := waits
		require.NoError(t, on.WaitEvent(target))
		require.Equal(t, want, waits-before)
	}
	first := recorded(t, s[0])
	early := recorded(t, s[1])
	step(s[1], first, 1)
	second := recorded(t, s[1])
	step(s[2], early, 1) // it was recorded before s[1] waited
	step(s[2], second, 1)
	step(s[2], first, 0)
	step(s[2], second, 0)
	later := recorded(t, s[0])
	step(s[2], later, 1)
	step(s[2], first, 0)
	step(s[1], later, 1)
	require.True(t, s[0].RecordAgain(first))
	step(s[2], first, 1)
	for _, e := range []*hal.Event{first, early, second, later} {
		require.NoError(t, e.Close())
	}
}

// Whatever streams wait for whatever events, a stream that was told to wait for an event is behind it by way of waits that the driver was given.
func TestStreamsAreBehindAllThatTheyWereToldToWaitFor(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			type mark map[*hal.Event]bool // what something is behind
			behind := map[*hal.Stream]mark{}
			of := map[*hal.Event]mark{}
			var on *hal.Stream // the wait under way
			var target *hal.Event
			waits, all := 0, 0
			streams := waited(t, 10, func(*hooked.Stream, *hooked.Event) {
				waits++
				for e := range of[target] {
					behind[on][e] = true
				}
			})
			for _, s := range streams {
				behind[s] = mark{}
			}
			var events []*hal.Event
			for range 600 {
				s := streams[rnd.IntN(len(streams))]
				if len(events) == 0 || rnd.IntN(3) == 0 {
					e := recorded(t, s)
					behind[s][e] = true
					of[e] = mark{}
					for x := range behind[s] {
						of[e][x] = true
					}
					events = append(events, e)
					continue
				}
				on, target = s, events[max(0, len(events)-1-rnd.IntN(20))]
				require.NoError(t, on.WaitEvent(target))
				all++
				for x := range of[target] {
					require.True(t, behind[on][x], "the driver was not told")
				}
			}
			require.Less(t, waits, all)
			for _, e := range events {
				require.NoError(t, e.Close())
			}
		})
	}
}

// The streams that copies run on are streams of their own.
func TestCopyStreamsAreToldApart(t *testing.T) {
	waits := 0
	s := waited(t, 1, func(*hooked.Stream, *hooked.Event) { waits++ })[0]
	for i, in := range []bool{false, true} {
		c, err := s.Device().CopyStream(in)
		require.NoError(t, err)
		g, err := c.Gate()
		require.NoError(t, err)
		e := recorded(t, c)
		require.NoError(t, s.WaitEvent(e))
		require.Equal(t, i+1, waits)
		require.NoError(t, e.Close())
		t.Cleanup(func() { require.NoError(t, g.Signal()) })
	}
}
