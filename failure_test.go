package halyard_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/small"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/algo"
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
	if ctx, _, grid, ok := q.Launching(name, hal.Over(1)); ok {
		q.Launched(faulty.Kernel(name).Launch(ctx, q.On(), grid, kernel.InOut(x)))
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
			for i := range 20 { // a stream remembers 64 failures
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

// A value of a queue that is closed says so in place of its elements, and using it is an error, which is reported if nobody asks for it.
func TestUseAfterClose(t *testing.T) {
	for name, use := range map[string]func(x *halyard.Buffer[int32]){
		"print":  func(x *halyard.Buffer[int32]) { assert.Contains(t, fmt.Sprint(x), "the queue is closed") },
		"values": func(x *halyard.Buffer[int32]) { assert.Equal(t, []int32{0, 0, 0}, x.Values()) },
		"launch": func(x *halyard.Buffer[int32]) { run(halyard.On(t.Context(), nil), "inc", x); x.Fill(1) },
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan string, 100)
			before := hal.SetLeakHandler(func(l hal.Leak) { told <- l.Object })
			defer func() { hal.SetLeakHandler(before) }()
			func() {
				q := halyard.Open(context.Background(), "host")
				x := halyard.From(q, []int32{1, 2, 3})
				require.NoError(t, q.Close())
				use(x)
			}()
			assert.Eventually(t, func() bool {
				runtime.GC()
				select {
				case object := <-told:
					return strings.Contains(object, "the queue is closed")
				default:
					return false
				}
			}, time.Minute, time.Millisecond)
		})
	}
}

// Close again says what the first Close did, also when the context has ended since.
func TestCloseAgainAfterTheContext(t *testing.T) {
	for range 50 {
		ctx, cancel := context.WithCancel(context.Background())
		q := halyard.Open(ctx, "host")
		require.NoError(t, q.Close())
		cancel()
		require.NoError(t, q.Close())
		require.NoError(t, q.Err())
	}
}

// What is wrong with a call is an error with the program's line, not a panic, and says what is meant.
func TestSmallMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		call func(q *halyard.Queue, x *halyard.Buffer[int32])
		want string
	}{
		"nil function": {func(q *halyard.Queue, x *halyard.Buffer[int32]) { halyard.View2(x, x, nil) }, "View: invalid argument: nil function"},
		"second buffer": {func(q *halyard.Queue, x *halyard.Buffer[int32]) {
			y := halyard.From(q, []int32{1})
			require.NoError(t, y.Buffer().Close())
			halyard.View2(x, y, func(_, _ []int32) {})
		}, "View: already closed"},
		"nil array": {func(q *halyard.Queue, x *halyard.Buffer[int32]) { run(q, "inc", (*array.Array[int32])(nil)) }, "nil or zero array"},
		"rows":      {func(q *halyard.Queue, x *halyard.Buffer[int32]) { assert.Zero(t, x.InRows(-1).Cols()) }, "whole rows of -1 columns"},
		"step": {func(q *halyard.Queue, x *halyard.Buffer[int32]) {
			y := halyard.From(q, []int32{1})
			step := q.Record(func(q *halyard.Queue) { run(q, "inc", y) })
			require.NoError(t, y.Buffer().Close())
			step.Run()
		}, "Run: already closed"},
	} {
		t.Run(name, func(t *testing.T) {
			q := open(t)
			c.call(q, halyard.From(q, []int32{1, 2, 3}))
			assert.ErrorContains(t, q.Err(), c.want)
			assert.ErrorContains(t, q.Err(), "failure_test.go:")
		})
	}
	q := open(t)
	step := q.Record(func(*halyard.Queue) {})
	step.Run()
	step.Close()
	assert.NoError(t, q.Err())
}

// strange is a vector of a program's own, whose methods call fn.
type strange struct {
	*halyard.Buffer[float32]
	at string
	fn func()
}

func (s strange) call(at string) {
	if s.at == at {
		s.fn()
	}
}

func (s strange) Len() int { s.call("Len"); return s.Buffer.Len() }

func (s strange) Want(m coherence.Mode) buffer.Want { s.call("Want"); return s.Buffer.Want(m) }

// A function of the program that panics or ends its goroutine leaves no call open: its buffers can be used and closed afterwards, and so can
// the queue. The panic comes out.
func TestFunctionsOfTheProgramThatDoNotReturn(t *testing.T) {
	ctx := t.Context()
	type all struct {
		q    *halyard.Queue
		x, y *halyard.Buffer[float32]
	}
	through := map[string]func(a all, fn func()){
		"View":         func(a all, fn func()) { a.x.View(func([]float32) { fn() }) },
		"Update":       func(a all, fn func()) { a.x.Update(func([]float32) { fn() }) },
		"View2":        func(a all, fn func()) { halyard.View2(a.x, a.y, func(_, _ []float32) { fn() }) },
		"Record":       func(a all, fn func()) { a.q.Record(func(*halyard.Queue) { fn() }) },
		"Len":          func(a all, fn func()) { small.Saxpy(a.q, 1, a.x, strange{a.y, "Len", fn}) },
		"Want":         func(a all, fn func()) { small.Saxpy(a.q, 1, strange{a.x, "Want", fn}, a.y) },
		"Want of algo": func(a all, fn func()) { algo.Sum(a.q, strange{a.x, "Want", fn}, a.y.Slice(0, 1)) },
		"observer of a launch": func(a all, fn func()) {
			defer buffer.Observe(func(buffer.Activity) { fn() })()
			small.Saxpy(a.q, 1, a.x, a.y)
		},
		"observer of a wait": func(a all, fn func()) {
			small.Saxpy(a.q, 1, a.x, a.y)
			defer buffer.Observe(func(buffer.Activity) { fn() })()
			a.y.Values()
		},
		"buffer View": func(a all, fn func()) {
			_ = a.x.Buffer().View(ctx, func([]float32) error { fn(); return nil })
		},
		"buffer Overwrite": func(a all, fn func()) {
			_ = a.x.Buffer().Overwrite(ctx, func([]float32) error { fn(); return nil })
		},
		"AccessRanges": func(a all, fn func()) {
			_ = a.x.Buffer().AccessRanges(ctx, coherence.ReadWrite, []buffer.Range{{Lo: 0, Hi: 1}}, func([]float32) error { fn(); return nil })
		},
		"ReleaseChecked": func(a all, fn func()) {
			l, err := a.x.Buffer().Acquire(ctx, a.q.Stream(), coherence.ReadWrite)
			require.NoError(t, err)
			_ = l.ReleaseChecked(func() error { fn(); return nil })
			_ = a.x.Buffer().View(ctx, func([]float32) error { return nil })
		},
		"kernel": func(a all, fn func()) {
			k := kernel.New(kernel.Source{Go: kernel.Functions{"k": kernel.Go(func(*kernel.Block) { fn() })}}).Kernel("k")
			_ = k.Launch(ctx, a.q.Stream(), hal.Over(1), kernel.InOut(a.x))
			_ = a.q.Stream().Sync(ctx)
		},
	}
	for name, through := range through {
		for how, fn := range map[string]func(){"panic": func() { panic("mine") }, "Goexit": runtime.Goexit} {
			t.Run(name+" "+how, func(t *testing.T) {
				watched, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				q := halyard.Open(watched, "host")
				a := all{q, halyard.From(q, make([]float32, 8)), halyard.From(q, make([]float32, 8))}
				ended := make(chan any)
				go func() {
					defer func() { ended <- recover() }()
					through(a, fn)
				}()
				if p := <-ended; p != nil {
					assert.Contains(t, fmt.Sprint(p), map[string]string{"panic": "mine", "Goexit": "it ended its goroutine"}[how])
				}
				for _, x := range []*halyard.Buffer[float32]{a.x, a.y} {
					assert.NoError(t, x.Buffer().Overwrite(watched, func([]float32) error { return nil }))
					assert.NoError(t, x.Buffer().Close())
				}
				if err := q.Close(); err != nil {
					assert.ErrorIs(t, err, kernel.ErrUnfinished)
				}
				assert.NoError(t, watched.Err())
			})
		}
	}
}
