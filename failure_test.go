package halyard_test

import (
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// faulty are two kernels that fail, and one that does not.
var faulty = kernel.New(kernel.Source{Name: "faulty", Go: kernel.Functions{
	"boom": kernel.Go(func(b *kernel.Block) { panic("boom") }),
	"exit": kernel.Go(func(b *kernel.Block) { runtime.Goexit() }),
	"inc": kernel.Go(func(b *kernel.Block) {
		for i, s := 0, kernel.Slice[int32](b, 0); i < len(s); i++ {
			s[i]++
		}
	}),
}})

// run is the launcher of a kernel with one argument. It returns where it calls package kernel.
func run(q kernel.Queue, name string, x kernel.Operand) (line string) {
	line = here(2)
	if ctx, s, grid, ok := q.Launching(name, hal.Over(1)); ok {
		q.Launched(faulty.Kernel(name).Launch(ctx, s, grid, kernel.InOut(x)))
	}
	return line
}

// here is the place so many lines below.
func here(below int) string {
	_, file, line, _ := runtime.Caller(1)
	return filepath.Base(file) + ":" + strconv.Itoa(line+below) + ": "
}

// A failure is that of the launch: its queue, its line and what it wrote. Another queue on the same stream, and other buffers, have none.
func TestFailureBelongsToTheLaunch(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	for _, device := range []string{"host:0", "host:1"} {
		for _, kind := range []string{"boom", "exit"} {
			for _, synced := range []bool{false, true} {
				t.Run(device+" "+kind+" "+strconv.FormatBool(synced), func(t *testing.T) {
					dev, err := hal.Open(t.Context(), device)
					require.NoError(t, err)
					stream, err := dev.NewStream()
					require.NoError(t, err)
					defer func() { assert.NoError(t, hal.CloseAll(dev, stream)) }()
					a, b := halyard.On(t.Context(), stream), halyard.On(t.Context(), stream)
					x, y := halyard.From(a, []int32{1, 2, 3}), halyard.From(b, []int32{10, 20, 30})
					run(b, "inc", y)
					gate, err := stream.Gate()
					require.NoError(t, err)
					run(b, "inc", y)
					line := run(a, kind, x)
					if synced {
						require.NoError(t, gate.Signal())
						_ = stream.Sync(t.Context())
					}
					run(b, "inc", y)
					if !synced {
						require.NoError(t, gate.Signal())
					}
					assert.Equal(t, []int32{13, 23, 33}, y.Values())
					b.Sync()
					assert.NoError(t, b.Close())
					assert.ErrorIs(t, x.Buffer().View(t.Context(), func([]int32) error { return nil }), hal.ErrKernel)
					err = a.Close()
					assert.ErrorIs(t, err, hal.ErrKernel)
					assert.ErrorContains(t, err, "kernel "+kind)
					assert.ErrorContains(t, err, line)
				})
			}
		}
	}
}

// Launches of one program on one stream, without queues: what another launch wrote is not lost.
func TestFailureOfOneLaunchLosesNothingElse(t *testing.T) {
	q := open(t)
	ctx, s := t.Context(), q.Stream()
	x, y := halyard.From(q, []int32{1}).Buffer(), halyard.From(q, []int32{1}).Buffer()
	launch := func(name string, of kernel.Operand) {
		require.NoError(t, faulty.Kernel(name).Launch(ctx, s, hal.Over(1), kernel.InOut(of)))
	}
	for range 3 {
		require.NoError(t, x.Overwrite(ctx, func(s []int32) error { s[0] = 1; return nil }))
		gate, err := s.Gate()
		require.NoError(t, err)
		launch("inc", y)
		launch("boom", x)
		launch("inc", y)
		require.NoError(t, gate.Signal())
		_, err = x.At(ctx, 0)
		require.ErrorIs(t, err, hal.ErrKernel)
		require.ErrorContains(t, err, "(launched at ")
		_, err = y.At(ctx, 0)
		require.NoError(t, err)
		require.ErrorIs(t, s.Sync(ctx), hal.ErrKernel, "the stream tells what no queue was told")
	}
	v, err := y.At(ctx, 0)
	require.NoError(t, err)
	require.EqualValues(t, 7, v)
}

// Many goroutines with a queue each, all on one stream: each sees its own failures and results.
func TestQueuesOnOneStreamAtOnce(t *testing.T) {
	own := open(t)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 50 {
				q := halyard.On(t.Context(), own.Stream())
				x := halyard.From(q, []int32{1, 2})
				fails := (g+i)%3 == 0
				for range 3 {
					run(q, "inc", x)
				}
				if fails {
					run(q, "boom", x)
				}
				got := x.Values()
				err := q.Close()
				if fails {
					assert.ErrorIs(t, err, hal.ErrKernel)
				} else {
					assert.NoError(t, err)
					assert.Equal(t, []int32{4, 5}, got)
				}
			}
		})
	}
	all.Wait()
	assert.NoError(t, own.Err())
}
