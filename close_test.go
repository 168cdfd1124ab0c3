package halyard_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/small"
	"github.com/go-halyard/halyard/kernel"
)

// A queue closes, too, if the elements of another queue's buffer are only at its device, and they are not lost: whatever the two devices are.
func TestCloseKeepsElementsOfOtherQueues(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	infos, _ := hal.Devices(t.Context())
	require.NotEmpty(t, infos)
	for _, used := range infos {
		for _, own := range infos {
			t.Run(used.Name()+" and "+own.Name(), func(t *testing.T) {
				a, b, c := halyard.Open(t.Context(), used.Name()), halyard.Open(t.Context(), own.Name()), halyard.Open(t.Context(), "host:0")
				x, y := halyard.From(b, []float32{10, 20, 30}), halyard.From(c, []float32{10, 20, 30})
				small.Saxpy(a, 2, halyard.From(a, []float32{1, 2, 3}), x)
				small.Saxpy(a, 2, halyard.From(a, []float32{1, 2, 3}), y)
				if err := a.Err(); used.Backend != "host" && (errors.Is(err, hal.ErrUnavailable) || errors.Is(err, hal.ErrUnsupported)) {
					_ = errors.Join(a.Close(), b.Close(), c.Close())
					t.Skip(err)
				}
				assert.NoError(t, a.Close())
				assert.Equal(t, []float32{12, 24, 36}, x.Values())
				assert.NoError(t, b.Close())
				assert.Equal(t, []float32{12, 24, 36}, y.Values())
				assert.NoError(t, c.Close())
				_, err := a.Device().NewStream()
				assert.ErrorIs(t, err, hal.ErrClosed, "the device is closed with the last queue that needs it")
			})
		}
	}
}

// The Close of the last queue says what is still open, and what to do.
func TestCloseBeforeABufferWithoutAQueue(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	x, err := buffer.From([]float32{1, 2, 3})
	require.NoError(t, err)
	q := halyard.Open(t.Context(), "host:1")
	small.Saxpy(q, 2, x, x)
	err = q.Close()
	require.NoError(t, x.Close())
	require.ErrorIs(t, err, hal.ErrBusy)
	require.ErrorContains(t, err, "still open: device memory of 12 bytes; what the program made without a queue, as by array.ReadNPY and buffer.From, "+
		"has to be closed before the last queue")
}

// Two queues may close at the same time, although a buffer of one has elements at the device of the other.
func TestCloseDuringCloseOfAnotherQueue(t *testing.T) {
	a, b := halyard.Open(t.Context(), "host:0"), halyard.Open(t.Context(), "host:1")
	x := halyard.From(b, []float32{10, 20, 30})
	small.Saxpy(a, 2, halyard.From(a, []float32{1, 2, 3}), x)
	closed := make(chan error, 1)
	x.View(func([]float32) {
		go func() { closed <- b.Close() }()
		for !halyard.Closing(b) {
			runtime.Gosched()
		}
		assert.NoError(t, a.Close())
	})
	assert.NoError(t, <-closed)
	_, err := a.Device().NewStream()
	assert.ErrorIs(t, err, hal.ErrClosed, "the device is closed")
}

// A queue whose buffer kept the device of a closed queue open closes that device, also while the Close of a third queue waits for its own.
func TestCloseBesideACloseThatWaits(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	a, b, c := halyard.Open(t.Context(), "host:1"), halyard.Open(t.Context(), "host:0"), halyard.Open(t.Context(), "host:2")
	x := halyard.From(b, ones(64))
	small.Saxpy(a, 2, halyard.From(a, ones(64)), x)
	require.NoError(t, a.Close())
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.NotErrorIs(t, a.Device().Reclaim(over), hal.ErrClosed, "x has memory there")

	s, err := c.Device().NewStream()
	require.NoError(t, err)
	hold := make(chan struct{})
	wait := kernel.New(kernel.Source{Go: kernel.Functions{"wait": kernel.Go(func(*kernel.Block) { <-hold })}}).Kernel("wait")
	require.NoError(t, wait.Launch(t.Context(), s, hal.Over(1)))
	require.NoError(t, s.Close())
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }()
	for !errors.Is(c.Device().Reclaim(over), hal.ErrClosed) {
		runtime.Gosched()
	}
	assert.NoError(t, b.Close())
	assert.ErrorIs(t, a.Device().Reclaim(over), hal.ErrClosed)
	assert.Zero(t, a.Device().Usage().Held)
	close(hold)
	assert.NoError(t, <-closed)
}

// The device of a closed queue closes, too, when what kept it open is lost: the buffers of a queue that was never closed, or a buffer that
// could not be closed with the queue.
func TestDevicesCloseAfterLosses(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	before := hal.SetLeakHandler(func(hal.Leak) {})
	defer func() { hal.SetLeakHandler(before) }()
	for name, lose := range map[string]func() *hal.Device{
		"queue": func() *hal.Device {
			a, b := halyard.Open(context.Background(), "host:1"), halyard.Open(context.Background(), "host:0")
			small.Saxpy(a, 2, halyard.From(a, ones(64)), halyard.From(b, ones(64)))
			require.NoError(t, errors.Join(b.Err(), a.Close()))
			return a.Device()
		},
		"buffer": func() *hal.Device {
			a := halyard.Open(context.Background(), "host:1")
			x := halyard.From(a, ones(64))
			small.Saxpy(a, 2, x, x)
			require.NoError(t, x.Buffer().View(t.Context(), func([]float32) error {
				require.ErrorAs(t, a.Close(), new(*buffer.ConflictError))
				return nil
			}))
			return a.Device()
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := lose()
			over, cancel := context.WithCancel(t.Context())
			cancel()
			require.NotErrorIs(t, d.Reclaim(over), hal.ErrClosed)
			require.Eventually(t, func() bool {
				runtime.GC()
				return errors.Is(d.Reclaim(over), hal.ErrClosed)
			}, time.Minute, time.Millisecond)
		})
	}
}

// Goroutines may use a buffer at once: calls that change all of its elements exclude each other, and wait until the others are over.
func TestManyGoroutinesUseABuffer(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	for _, names := range [][]string{{"host:0"}, {"host:1"}, {"host:1", "host:2"}} {
		for _, end := range []bool{false, true} { // of the context, meanwhile
			t.Run(fmt.Sprint(names, end), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				q := halyard.Open(ctx, names...)
				x, one := halyard.From(q, ones(4096)), halyard.From(q, ones(4096))
				same := func(s []float32) {
					for _, v := range s {
						if v != s[0] {
							assert.Equal(t, s[0], v)
							return
						}
					}
				}
				var all sync.WaitGroup
				for i, call := range []func(){
					func() { small.Saxpy(q, 1, one, x) },
					func() { small.Saxpy(q, 2, one, x) },
					func() { x.Fill(5) },
					func() { x.View(same) },
					func() { same(x.Values()) },
					func() {
						x.Update(func(s []float32) {
							for i := range s {
								s[i]++
							}
						})
					},
				} {
					all.Go(func() {
						for range 100 {
							call()
						}
						if end && i == 0 {
							cancel()
						}
					})
				}
				all.Wait()
				if end {
					assert.ErrorIs(t, q.Close(), context.Canceled)
					<-halyard.Ended(q) // not during the next test
					return
				}
				x.View(same)
				assert.NoError(t, q.Close())
			})
		}
	}
}

// Queues that share buffers close in any order and at the same time. That is never an error, and nothing stays open, also if the
// contexts end before.
func TestManyQueuesCloseAtOnce(t *testing.T) {
	for seed := range 60 {
		r := rand.New(rand.NewPCG(uint64(seed), 34))
		ctx, cancel := context.WithCancel(t.Context())
		var queues []*halyard.Queue
		var buffers []*halyard.Buffer[float32]
		for i := range 6 {
			queues = append(queues, halyard.Open(ctx, fmt.Sprint("host:", r.IntN(2))))
			for range 3 {
				buffers = append(buffers, halyard.From(queues[i], ones(64)))
			}
		}
		for range 40 {
			small.Saxpy(queues[r.IntN(6)], 1, buffers[r.IntN(18)], buffers[r.IntN(18)])
		}
		for _, q := range queues {
			q.Sync()
		}
		viewing := make(chan struct{})
		var wg, inside sync.WaitGroup
		for _, i := range r.Perm(18)[:4] {
			inside.Add(1)
			wg.Go(func() { buffers[i].View(func([]float32) { inside.Done(); <-viewing }) })
		}
		inside.Wait()
		for _, q := range queues {
			wg.Go(func() {
				if err := q.Close(); seed%3 != 0 || !errors.Is(err, context.Canceled) {
					assert.NoError(t, err)
				}
			})
		}
		if seed%3 == 0 {
			cancel()
		}
		close(viewing)
		wg.Wait()
		cancel()
		for _, q := range queues {
			<-halyard.Ended(q)
		}
		for _, q := range queues {
			require.ErrorIs(t, q.Device().Reclaim(t.Context()), hal.ErrClosed)
			require.Zero(t, q.Device().Usage().Held)
		}
	}
}
