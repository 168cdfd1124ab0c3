//go:build vulkan

package vulkan

import (
	"math/rand/v2"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

// Streams take turns with the queues of a device. The work of one goes on while that of another does not, and comes after it on the device
// if it waits for an event.
func TestStreamsHaveQueues(t *testing.T) {
	m := newMock(rand.New(rand.NewPCG(1, 7)))
	m.queues, m.slow = 3, true
	b := newBackend(func() (*table, error) { return m.table(), nil }).with(options{Memory: modelDiscrete})
	opened, err := b.Open(t.Context(), 0)
	must(t, err)
	d := opened.(*device)
	var streams [4]*stream
	for i := range streams {
		streams[i] = streamOf(t, d)
	}
	for i, s := range streams {
		if s.q != d.queues[i%3] {
			t.Errorf("stream %d has queue %d", i, s.q.index)
		}
	}
	done := func(s *stream, want bool) {
		t.Helper()
		if got, err := s.Query(); got != want || err != nil {
			t.Errorf("done: %t, %v; want %t", got, err, want)
		}
	}
	finish := m.finish
	first, second, third := streams[0], streams[1], streams[2]
	mem := memoryOf(t, d, driver.KindDevice, 1<<20)
	fill := driver.Pattern{Bits: 1, Width: 1}
	must(t, first.Fill(all(mem), fill), second.Fill(all(mem), fill))
	finish(second, 1)
	done(second, true)
	done(first, false)
	done(streams[3], true) // it has not used the queue that it shares with the first

	e, err := d.NewEvent(driver.EventOptions{})
	must(t, err, first.Record(e), second.Wait(e))
	if want := (waited{first.q.semaphore, 1}); len(m.waits) != 1 || m.waits[0] != want {
		t.Errorf("the device waits for %v, want %v", m.waits, want)
	}
	done(second, false)
	finish(second, 2)
	done(second, true)
	finish(first, 1)
	must(t, third.Wait(e))
	if done(third, true); len(m.waits) != 1 {
		t.Errorf("the device waits for what is done: %v", m.waits)
	}

	// A stream that is held up by a gate holds up one of another queue that waits for it, and no other.
	g, err := first.Gate()
	must(t, err, first.Fill(all(mem), fill), first.Record(e), third.Wait(e), third.Fill(all(mem), fill), second.Fill(all(mem), fill))
	finish(second, 3)
	done(second, true)
	done(third, false)
	must(t, g.Open())
	for point := e.(*event); ; {
		if _, number, p := point.target(); p != nil {
			<-p.done
		} else if number != 2 {
			t.Fatalf("the event has number %d", number)
		} else {
			break
		}
	}
	finish(first, 2)
	finish(third, 2)
	must(t, first.Sync(), third.Sync(), second.Sync())
	if want := (waited{first.q.semaphore, 2}); len(m.waits) > 1 && m.waits[1] != want {
		t.Errorf("the device waits for %v, want %v", m.waits, want)
	}
}
