package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/pipeline"
	"github.com/go-halyard/halyard/hal"
)

// No element is lost, and none changes its place.
func TestEverythingArrivesInOrder(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		for _, depth := range []int{0, 1, 2, 3, 9} {
			for _, total := range []int{0, 1, 99, 100, 101, 20_000} {
				seen := 0
				err := pipeline.Run(ctx, d, 100, numbers(total), duplicate, inOrder(&seen), pipeline.WithDepth(depth))
				require.NoError(t, err, "depth %d", depth)
				require.Equal(t, total, seen)
			}
		}
	})
}

// A chunk may have any number of results, none included.
func TestOtherResults(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		var got []uint8
		err := pipeline.Run(ctx, d, 10, numbers(95),
			func(w pipeline.Work) (int, error) {
				return int(w.Index % 4), w.Stream.Fill(w.Results.Region(), hal.Pattern8(uint8(w.Index)))
			},
			func(_ context.Context, r []uint8) error {
				got = append(got, r...)
				return nil
			}, pipeline.WithResults(3))
		require.NoError(t, err)
		require.Equal(t, []uint8{1, 2, 2, 3, 3, 3, 5, 6, 6, 7, 7, 7}, got[:12])
	})
}

// While the sink is at one chunk, the device has the next, and the source fills the one after that.
func TestStagesOverlap(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		read, processed := make(chan struct{}, 10), make(chan struct{}, 10)
		c, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		chunk, sunk := 0, 0
		err := pipeline.Run(c, d, 4,
			func(_ context.Context, fill []int32) (int, error) {
				if chunk++; chunk > 6 {
					return 0, io.EOF
				}
				read <- struct{}{}
				return len(fill), nil
			},
			func(w pipeline.Work) (int, error) {
				processed <- struct{}{}
				return duplicate(w)
			},
			func(c context.Context, _ []int32) error {
				if sunk++; sunk > 1 {
					return nil
				}
				for _, stage := range []chan struct{}{read, read, read, processed, processed, processed} {
					select {
					case <-stage:
					case <-c.Done():
						return errors.New("the other stages wait for the sink")
					}
				}
				return nil
			}, pipeline.WithDepth(3))
		require.NoError(t, err)
		require.Equal(t, 6, sunk)
	})
}

// The source is no further ahead of the sink than the depth.
func TestBackPressure(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		const depth = 3
		var read, sunk atomic.Int64
		err := pipeline.Run(ctx, d, 4,
			func(_ context.Context, fill []int32) (int, error) {
				if ahead := read.Add(1) - sunk.Load(); ahead > depth+1 { // the sink's own may just have been given back
					return 0, errors.New("too far ahead")
				}
				if read.Load() == 200 {
					return 0, io.EOF
				}
				return len(fill), nil
			},
			duplicate,
			func(context.Context, []int32) error {
				sunk.Add(1)
				return nil
			}, pipeline.WithDepth(depth))
		require.NoError(t, err)
	})
}

// The results of a chunk wait for its work on the device.
func TestResultsWaitForTheDevice(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		seen := 0
		var opened atomic.Int64
		var openers sync.WaitGroup
		err := pipeline.Run(ctx, d, 50, numbers(1000),
			func(w pipeline.Work) (int, error) {
				g, err := w.Stream.Gate()
				if err != nil {
					return 0, err
				}
				openers.Go(func() {
					opened.Add(1)
					_ = g.Signal()
				})
				return duplicate(w)
			},
			func(c context.Context, r []int32) error {
				if opened.Load() == 0 {
					return errors.New("results of work that has not run")
				}
				return inOrder(&seen)(c, r)
			})
		openers.Wait()
		require.NoError(t, err)
		require.Equal(t, 1000, seen)
	})
}

// An error of any stage, at any chunk, ends all of them, and is the error of Run.
func TestErrorsStopEverything(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		mine := errors.New("mine")
		for stage := range 3 {
			for at := range 8 {
				calls, seen := 0, 0
				now := func(s int) bool { // each stage's calls come one after the other
					if s != stage {
						return false
					}
					calls++
					return calls > at
				}
				source := numbers(1 << 30)
				err := pipeline.Run(ctx, d, 64,
					func(c context.Context, fill []int32) (int, error) {
						if now(0) {
							return 3, mine
						}
						return source(c, fill)
					},
					func(w pipeline.Work) (int, error) {
						if now(1) {
							return 0, mine
						}
						return duplicate(w)
					},
					func(c context.Context, r []int32) error {
						if now(2) {
							return mine
						}
						return inOrder(&seen)(c, r)
					})
				require.Equal(t, mine, err, "stage %d, call %d", stage, at)
			}
		}
	})
}

// When the context ends every stage does, also one that is waiting for another.
func TestContextEnds(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		why := errors.New("why")
		for stage := range 3 {
			c, cancel := context.WithCancelCause(ctx)
			source, seen := numbers(1<<30), 0
			calls := 0
			end := func(s int) {
				if s != stage {
					return
				}
				if calls++; calls == 5 {
					cancel(why)
				}
			}
			err := pipeline.Run(c, d, 64,
				func(c context.Context, fill []int32) (int, error) {
					end(0)
					return source(c, fill)
				},
				func(w pipeline.Work) (int, error) {
					end(1)
					return duplicate(w)
				},
				func(c context.Context, r []int32) error {
					end(2)
					return inOrder(&seen)(c, r)
				}, pipeline.WithDepth(2))
			require.ErrorIs(t, err, hal.ErrNotReady)
			require.ErrorIs(t, err, why)
			require.ErrorIs(t, pipeline.Run(c, d, 64, source, duplicate, inOrder(&seen)), why)
		}
	})
}

// errorList is an error that cannot be compared.
type errorList []error

func (errorList) Error() string { return "a list" }

// A pipeline within one that fails ends because its context does.
func TestPipelineWithinOneThatFails(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		broken := errors.New("broken")
		inner := make(chan error, 1)
		err := pipeline.Run(ctx, d, 64,
			func(c context.Context, fill []int32) (int, error) {
				if len(inner) > 0 || c.Err() != nil {
					return 0, io.EOF
				}
				go func() {
					inner <- pipeline.Run(c, d, 64, numbers(1<<40), duplicate, func(context.Context, []int32) error { return nil })
				}()
				fill[0] = 1
				return 1, nil
			},
			duplicate, func(context.Context, []int32) error { return broken }, pipeline.WithDepth(1))
		require.Equal(t, broken, err)
		err = <-inner
		require.ErrorIs(t, err, hal.ErrNotReady)
		require.ErrorIs(t, err, broken)
	})
}

func TestContextEndsWithAnErrorThatCannotBeCompared(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		c, cancel := context.WithCancelCause(ctx)
		err := pipeline.Run(c, d, 64, numbers(1<<30), duplicate, func(context.Context, []int32) error {
			cancel(errorList{io.EOF})
			return nil
		})
		require.ErrorIs(t, err, hal.ErrNotReady)
		var list errorList
		require.ErrorAs(t, err, &list)
	})
}

// A context that ends while the device is held shut ends the pipeline, and the device's work goes on after it.
func TestContextEndsDuringWork(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		c, cancel := context.WithCancel(ctx)
		var gates []*hal.Gate
		err := pipeline.Run(c, d, 64, numbers(1<<20),
			func(w pipeline.Work) (int, error) {
				g, err := w.Stream.Gate()
				if err != nil {
					return 0, err
				}
				if gates = append(gates, g); len(gates) == 2 {
					cancel()
				}
				return duplicate(w)
			},
			func(context.Context, []int32) error { return errors.New("results of work that has not run") }, pipeline.WithDepth(2))
		require.ErrorIs(t, err, hal.ErrNotReady)
		require.ErrorIs(t, err, context.Canceled)
		for _, g := range gates {
			require.NoError(t, g.Signal())
		}
	})
}

// A sink that ends its goroutine, as a failed test does, takes the pipeline with it.
func TestSinkEndsItsGoroutine(t *testing.T) {
	d := openHost(t, 1)
	over := make(chan any)
	go func() {
		defer func() { over <- recover() }()
		_ = pipeline.Run(ctx, d, 8, numbers(1<<20), duplicate, func(context.Context, []int32) error { panic("sink") })
	}()
	require.Equal(t, "sink", <-over)
}

func TestBadArguments(t *testing.T) {
	d := openHost(t, 1)
	seen := 0
	source, sink := numbers(100), inOrder(&seen)
	const good = 10 // elements of a chunk
	for what, err := range map[string]error{
		"no device":       pipeline.Run(ctx, nil, good, source, duplicate, sink),
		"no source":       pipeline.Run[int32](ctx, d, good, nil, duplicate, sink),
		"no process":      pipeline.Run(ctx, d, good, source, nil, sink),
		"no sink":         pipeline.Run[int32, int32](ctx, d, good, source, duplicate, nil),
		"no chunk":        pipeline.Run(ctx, d, 0, source, duplicate, sink),
		"negative chunk":  pipeline.Run(ctx, d, -1, source, duplicate, sink),
		"negative result": pipeline.Run(ctx, d, 1, source, duplicate, sink, pipeline.WithResults(-1)),
		"nil option":      pipeline.Run(ctx, d, good, source, duplicate, sink, nil),
		"negative depth":  pipeline.Run(ctx, d, good, source, duplicate, sink, pipeline.WithDepth(-1)),
		"too deep":        pipeline.Run(ctx, d, 1, source, duplicate, sink, pipeline.WithDepth(65)),
		"overfull": pipeline.Run(ctx, d, good, func(_ context.Context, fill []int32) (int, error) { return len(fill) + 1, nil },
			duplicate, sink),
		"too many results": pipeline.Run(ctx, d, good, numbers(100), func(w pipeline.Work) (int, error) { return 11, nil }, sink),
	} {
		assert.ErrorIs(t, err, hal.ErrInvalidArgument, what)
	}
	err := pipeline.Run(ctx, d, good, func(context.Context, []int32) (int, error) { return 0, nil }, duplicate, sink)
	assert.ErrorIs(t, err, io.ErrNoProgress)
	require.Zero(t, seen)
}

func TestReaderAndWriter(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		data := make([]byte, 12_345*4)
		_, _ = rand.NewChaCha8([32]byte{}).Read(data)
		var got bytes.Buffer
		require.NoError(t, pipeline.Run(ctx, d, 1000, pipeline.Reader[int32](bytes.NewReader(data)), duplicate, pipeline.Writer[int32](&got)))
		require.True(t, bytes.Equal(data, got.Bytes()))

		err := pipeline.Run(ctx, d, 1000, pipeline.Reader[int32](bytes.NewReader(data[:4001])), duplicate, pipeline.Writer[int32](io.Discard))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
}
