package halyard_test

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// add adds 1 to each element, as a kernel that is written in Go does.
var add = kernel.New(kernel.Source{
	Go: kernel.Functions{"add": kernel.Go(func(b *kernel.Block) {
		x := kernel.Slice[float32](b, 0)
		for t := range grid.Threads(b) {
			if i := t.Global(0); i < len(x) {
				x[i]++
			}
		}
	})},
	Source: gridgen.Source{Kernels: map[string]gridgen.Written{"add": {Params: []string{"x", "len(x)"}, Footprint: gridgen.Footprint{
		Cut: [3]bool{true},
		Of: func(box gridgen.Box, values []int64, touch []gridgen.Touch) {
			s := buffer.Range{Lo: min(box.Lo[0], int(values[1])), Hi: min(box.Hi[0], int(values[1]))}
			touch[0] = gridgen.Touch{Read: s, Write: s}
		},
	}}}},
}).Kernel("add")

func addTo(q *halyard.Queue, x *halyard.Buffer[float32]) {
	if ctx, _, over, ok := q.Launching("add", hal.Over(kernel.Len(x))); ok {
		q.Launched(add.Launch(ctx, q.On(), over, kernel.InOut(x), kernel.Value(int64(kernel.Len(x)))))
	}
}

// everyElement returns whether all elements of x are v.
func everyElement(t *testing.T, x *halyard.Buffer[float32], v float32) {
	t.Helper()
	for i, got := range x.Values() {
		require.Equal(t, v, got, "element %d", i)
	}
}

// A queue over several devices is used as one over one device: only its launches are divided.
func TestQueueOverSeveralDevices(t *testing.T) {
	const n = 5 * 4096
	t.Setenv("HALYARD_HOST_DEVICES", "3")
	t.Setenv(hal.EnvDevices, "host") // GPUs do not run this kernel, and "all" would be these
	for _, c := range []struct {
		names []string
		is    string
		moved int
	}{
		{[]string{"all"}, "host:1+host:2+host:3", n}, // each element to one of the devices
		{[]string{"host:2", "host:1"}, "host:2+host:1", n},
		{[]string{"host:3"}, "host:3", n},
	} {
		q := halyard.Open(t.Context(), c.names...)
		require.Equal(t, c.is, q.String())
		if split := q.Split(); split != nil {
			require.NoError(t, split.SetShares([]float64{1, 1, 1}[:len(split.Streams())]...))
		}
		x := halyard.From(q, make([]float32, n))
		addTo(q, x)
		addTo(q, x)
		q.Sync()
		require.NoError(t, q.Err())
		assert.Equal(t, uint64(4*c.moved), x.Buffer().Stats().BytesCopied)
		everyElement(t, x, 2)
		x.Set(n-1, 5)
		assert.Equal(t, float32(5), x.At(n-1))
		x.Fill(7)
		addTo(q.Over(n), x)
		x.Update(func(s []float32) { s[0], s[n-1] = 8, 8 })
		x.View(func(s []float32) { assert.Equal(t, float32(8), s[n/2]) })
		upper := x.Slice(n/2, n)
		addTo(q, upper)
		everyElement(t, upper, 9)
		y := halyard.New[float32](q, n)
		y.CopyFrom(x)
		addTo(q, y)
		everyElement(t, y.Slice(0, n/2), 9)
		everyElement(t, y.Slice(n/2, n), 10)
		x.Close()
		require.NoError(t, q.Close())
	}
}

// Buffers of a queue over several devices move to the host when it is closed while another queue uses them, and the devices close.
func TestClosingAQueueOverSeveralDevices(t *testing.T) {
	const n = 3 * 4096
	t.Setenv("HALYARD_HOST_DEVICES", "3")
	q, other := halyard.Open(t.Context(), "host:1", "host:2", "host:3"), halyard.Open(t.Context(), "host:2")
	x := halyard.From(other, make([]float32, n))
	addTo(q, x)
	addTo(other, x)
	require.NoError(t, q.Close())
	addTo(other, x)
	everyElement(t, x, 3)
	require.NoError(t, other.Close())
}

// "all" is without devices that cannot be opened, unless that is all of them. Names that the program gives are not left out.
func TestAllIsWithoutWhatCannotBeOpened(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "3")
	t.Setenv(hal.EnvDevices, "host")
	t.Setenv("HALYARD_DEBUG", "log")
	reason := &hal.Error{Op: "open", Kind: hal.ErrUnavailable, Detail: "made to fail"}
	var q *halyard.Queue
	open := func(names ...string) (told string) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		before := os.Stderr
		os.Stderr = w
		q = halyard.Open(t.Context(), names...)
		os.Stderr = before
		require.NoError(t, w.Close())
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		return string(text)
	}
	end := halyard.FailToOpen(reason, "host:2")
	told := open("all")
	assert.Equal(t, "host:1+host:3", q.String())
	assert.Equal(t, 1, strings.Count(told, "made to fail"))
	assert.Contains(t, told, `halyard: "all" is without a device that cannot be opened: open: backend unavailable: made to fail`)
	x := halyard.New[float32](q, 9000)
	addTo(q, x)
	everyElement(t, x, 1)
	require.NoError(t, q.Close())
	assert.NotContains(t, open("host:1", "host:2"), "without")
	require.ErrorIs(t, q.Err(), hal.ErrUnavailable)
	require.ErrorIs(t, q.Close(), hal.ErrUnavailable)
	end()
	defer halyard.FailToOpen(reason, "host:1", "host:2", "host:3")()
	assert.Equal(t, 3, strings.Count(open("all"), "made to fail"))
	require.ErrorContains(t, q.Err(), "made to fail")
	require.ErrorIs(t, q.Close(), hal.ErrUnavailable)
}

func TestWrongNamesOfSeveralDevices(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	t.Setenv(hal.EnvDevices, "host") // the errors list the devices here
	for _, c := range []struct {
		names []string
		kind  error
		says  string
	}{
		{[]string{"host:1", "host:1"}, hal.ErrInvalidArgument, "two streams of host:1"},
		{[]string{"all", "host:1"}, hal.ErrInvalidArgument, `name 1 of 2 is "all", which stands alone`},
		{[]string{"host:1", "host:7"}, hal.ErrOutOfRange, "the devices here are host:0, host:1, host:2"},
	} {
		q := halyard.Open(t.Context(), c.names...)
		x := halyard.New[float32](q, 10)
		addTo(q, x)
		require.ErrorIs(t, q.Err(), c.kind)
		require.ErrorContains(t, q.Err(), c.says)
		assert.Equal(t, "no device", q.String())
		assert.Equal(t, q.Err(), q.Close())
	}
}

// The first error of a part is the queue's error, with the line of the launch.
func TestFirstErrorOfADividedLaunch(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	q, other := halyard.Open(t.Context(), "host:1", "host:2"), halyard.Open(t.Context(), "host")
	gone := halyard.New[float32](other, 9000)
	gone.Close()
	addTo(q, gone)
	require.ErrorIs(t, q.Err(), hal.ErrClosed)
	require.ErrorContains(t, q.Err(), "devices_test.go:")
	require.ErrorContains(t, q.Err(), "argument x: the buffer is closed")
	addTo(q, halyard.New[float32](q, 9000))
	require.ErrorIs(t, q.Close(), hal.ErrClosed)
	require.NoError(t, other.Close())
}

// Queues over the same devices in different orders share buffers, and goroutines use them at once: every launch counts once.
func TestQueuesOverTheSameDevices(t *testing.T) {
	const n, rounds = 3*4096 + 1, 40
	t.Setenv("HALYARD_HOST_DEVICES", "3")
	queues := []*halyard.Queue{halyard.Open(t.Context(), "host:1", "host:2", "host:3"), halyard.Open(t.Context(), "host:3", "host:1"),
		halyard.Open(t.Context(), "host:2", "host:3", "host:0"), halyard.Open(t.Context(), "host:1")}
	var buffers []*halyard.Buffer[float32]
	for _, q := range queues {
		buffers = append(buffers, halyard.New[float32](q, n))
	}
	var group sync.WaitGroup
	for i, q := range queues {
		group.Go(func() {
			for range rounds {
				for k := range buffers {
					addTo(q, buffers[(i+k)%len(buffers)])
				}
				buffers[i].View(func(s []float32) {
					for _, v := range s {
						if v != s[0] {
							t.Errorf("%v beside %v", v, s[0])
							break
						}
					}
				})
			}
		})
	}
	group.Wait()
	for i, q := range queues {
		everyElement(t, buffers[i], float32(len(queues)*rounds))
		require.NoError(t, q.Err())
	}
	for _, q := range queues {
		require.NoError(t, q.Close())
	}
}

// A queue that closes, or whose context ends, while goroutines launch, read and write on it gives back all that it has.
func TestClosingAQueueOverSeveralDevicesAtWork(t *testing.T) {
	const n = 3 * 4096
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	for round := range 30 {
		ctx, cancel := context.WithCancel(context.Background())
		q := halyard.Open(ctx, "host:1", "host:2")
		x, y := halyard.New[float32](q, n), halyard.New[float32](q, n)
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				for q.Err() == nil {
					switch i {
					case 0:
						addTo(q, x)
					case 1:
						x.View(func([]float32) {})
						y.Fill(1)
					case 2:
						addTo(q, y.Slice(round, n/2))
						x.Set(round, 3)
					case 3:
						halyard.New[float32](q, 10+round).CopyFrom(x.Slice(0, 10+round))
						x.Update(func(s []float32) { s[n-1]++ })
					}
				}
			})
		}
		for range round {
			runtime.Gosched()
		}
		if round%2 == 0 {
			cancel()
		}
		err := q.Close()
		group.Wait()
		cancel()
		<-halyard.Ended(q)
		if err != nil && !errors.Is(err, context.Canceled) {
			require.ErrorIs(t, err, hal.ErrClosed)
		}
		require.Eventually(t, func() bool { // what Close left to the background
			d, err := hal.Open(t.Context(), "host:1")
			require.NoError(t, err)
			defer d.Close()
			return d.Usage().Held == 0
		}, 10*time.Second, time.Millisecond)
	}
}
