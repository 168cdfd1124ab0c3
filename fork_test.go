package halyard_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/small"
)

// A request that goes wrong does not disturb the next one.
func ExampleQueue_Fork() {
	device := halyard.Open(context.Background(), "host")
	answer := func(data []float32) ([]float32, error) {
		q := device.Fork(context.Background())
		y := halyard.From(q, []float32{10, 20, 30})
		small.Saxpy(q, 2, halyard.From(q, data), y)
		found := y.Values()
		return found, q.Close()
	}
	_, err := answer(nil)
	fmt.Println(err != nil)
	fmt.Println(answer([]float32{1, 2, 3}))
	fmt.Println(device.Close())
	// Output:
	// true
	// [12 24 36] <nil>
	// <nil>
}

// A fork takes the stream of one that was closed. With several devices, too, it has the devices of its queue.
func TestForksShareDevices(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	for _, names := range [][]string{{"host:1"}, {"host:1", "host:2"}} {
		q := halyard.Open(t.Context(), names...)
		a, b := q.Fork(t.Context()), q.Fork(t.Context())
		assert.Equal(t, q.String(), a.String())
		assert.NotSame(t, a.Stream(), b.Stream())
		assert.NotSame(t, q.Stream(), a.Stream())
		x, y := halyard.From(q, ones(100_000)), halyard.From(a, ones(100_000))
		small.Saxpy(a, 2, x, y)
		assert.Equal(t, float32(3), y.At(99_999))
		was := a.Stream()
		require.NoError(t, a.Close())
		again := b.Fork(t.Context())
		assert.Equal(t, len(names) == 1, was == again.Stream())
		require.NoError(t, errors.Join(again.Close(), b.Close(), q.Close()))
		_, err := q.Device().NewStream()
		assert.ErrorIs(t, err, hal.ErrClosed, "the device is closed with the last queue")
	}
}

// An error or the end of a context is that of its fork. An error of the queue, such as that of Open, is that of all its forks.
func TestErrorsOfForks(t *testing.T) {
	q := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	a, b := q.Fork(ctx), q.Fork(t.Context())
	small.Saxpy(b, 2, halyard.From(b, ones(3)), halyard.From(b, ones(4)))
	assert.ErrorContains(t, b.Close(), "index out of range")
	cancel()
	halyard.From(a, ones(3)).Values()
	assert.ErrorIs(t, a.Close(), context.Canceled)
	c := q.Fork(t.Context())
	assert.Equal(t, []float32{1, 1, 1}, halyard.From(c, ones(3)).Values())
	assert.NoError(t, errors.Join(c.Close(), q.Err()))

	none := halyard.Open(t.Context(), "host:99")
	for range 2 {
		f := none.Fork(t.Context())
		halyard.From(f, ones(3))
		assert.Equal(t, none.Err(), f.Close())
	}
	require.NoError(t, q.Close())
	assert.ErrorIs(t, q.Fork(t.Context()).Err(), hal.ErrClosed)
	assert.ErrorIs(t, (*halyard.Queue)(nil).Fork(t.Context()).Err(), hal.ErrInvalidArgument)
}

// A fork may outlive its queue. Its device is closed with it, and so are the streams that wait.
func TestForkOutlivesItsQueue(t *testing.T) {
	q := halyard.Open(t.Context(), "host")
	f, waits := q.Fork(t.Context()), q.Fork(t.Context())
	x := halyard.From(f, ones(3))
	require.NoError(t, waits.Close())
	require.NoError(t, q.Close())
	small.Saxpy(f, 2, x, x)
	assert.Equal(t, []float32{3, 3, 3}, x.Values())
	require.NoError(t, f.Close())
	_, err := q.Device().NewStream()
	assert.ErrorIs(t, err, hal.ErrClosed)
}

// However many forks there were, only some streams wait for the next ones.
func TestIdleStreamsAreBounded(t *testing.T) {
	q := open(t)
	var forks []*halyard.Queue
	for range 100 {
		forks = append(forks, q.Fork(t.Context()))
	}
	for _, f := range forks {
		require.NoError(t, f.Close())
	}
	assert.Equal(t, 32, halyard.Idle(q))
}

// BenchmarkRequests compares requests that fork a queue with requests that take turns on one queue, and with a queue that is opened for each.
func BenchmarkRequests(b *testing.B) {
	device := halyard.Open(context.Background(), "host")
	defer device.Close()
	var turn sync.Mutex
	answer := func(q *halyard.Queue) {
		x, y := halyard.From(q, ones(1000)), halyard.New[float32](q, 1000)
		y.Fill(1)
		small.Saxpy(q, 2, x, y)
		if y.At(999) != 3 {
			b.Error(y.At(999), q.Err())
		}
		x.Close()
		y.Close()
	}
	for _, of := range []struct {
		name string
		do   func()
	}{
		{"Fork", func() {
			q := device.Fork(context.Background())
			answer(q)
			_ = q.Close()
		}},
		{"OneQueue", func() {
			turn.Lock()
			defer turn.Unlock()
			answer(device)
		}},
		{"Open", func() {
			q := halyard.Open(context.Background(), "host")
			answer(q)
			_ = q.Close()
		}},
	} {
		b.Run(of.name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					of.do()
				}
			})
		})
	}
}
