package halyard_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"runtime"
	"strings"
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

func Example() {
	q := halyard.Open(context.Background(), "host")
	x, y := halyard.From(q, []float32{1, 2, 3}), halyard.From(q, []float32{10, 20, 30})
	small.Saxpy(q, 2, x, y) // as many threads as y has elements
	fmt.Println(q, y)
	if err := q.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// host:0 [12 24 36]
}

func open(t *testing.T) *halyard.Queue {
	q := halyard.Open(context.Background(), "host") // that of t ends before, and Close would go on during the next test
	t.Cleanup(func() { _ = q.Close() })
	return q
}

func TestGridComesFromTheData(t *testing.T) {
	q := open(t)
	image := halyard.New[int32](q, 12)
	small.Paint(q, small.Frame{Width: 4, Height: 3}, image)
	assert.Equal(t, []int32{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}, image.Values())
	sums := halyard.New[int32](q, 3)
	small.Pairs(q, halyard.From(q, []int32{1, 2, 3, 4, 5, 6, 7}), sums)
	assert.Equal(t, []int32{3, 7, 11}, sums.Values())
	require.NoError(t, q.Err())
	out := halyard.New[int32](q, 4)
	small.Number(q.Grid(hal.Blocks(4).Of(1)), out)
	assert.Equal(t, []int32{0, 1, 2, 3}, out.Values())
	require.NoError(t, q.Err())
	small.Number(q, out)
	require.ErrorContains(t, q.Err(), "the data of kernel number do not say how many threads it needs; begin it with a condition such as i < len(x), or launch it on q.Over(n), with a number for each dimension; "+
		"if it needs blocks of a certain size, on q.Grid(hal.Over(n).Of(size))")
	require.ErrorIs(t, q.Err(), hal.ErrInvalidArgument)
	require.Equal(t, "host:0", q.String())
	require.Equal(t, q.Err(), q.Close())
	require.Equal(t, "host:0 (closed)", q.String())
}

// After the first error, which names the program's line, calls do nothing and have values that a loop over them survives.
func TestFirstErrorStays(t *testing.T) {
	q := open(t)
	x := halyard.From(q, []int32{1, 2, 3})
	require.Zero(t, x.At(7)) // line A
	first := q.Err()
	var e *halyard.Error
	require.ErrorAs(t, first, &e)
	require.ErrorIs(t, first, hal.ErrOutOfRange)
	require.Regexp(t, `queue_test\.go:\d+$`, e.Site)

	y := halyard.New[int32](q, 5)
	require.Equal(t, 5, y.Len())
	require.Equal(t, make([]int32, 5), y.Values())
	require.Equal(t, make([]int32, 3), x.Values())
	require.Equal(t, 2, x.Slice(1, 3).Len())
	require.Equal(t, make([]uint8, 12), halyard.As[uint8](x).Values())
	require.Nil(t, y.Buffer())
	require.Empty(t, halyard.New[int32](open(t), math.MaxInt).Values())
	x.Set(0, 9)
	x.Fill(9)
	x.SetValues([]int32{9, 9, 9})
	x.CopyFrom(y)
	ran := false
	x.View(func([]int32) { ran = true })
	x.Update(func([]int32) { ran = true })
	halyard.View2(x, y, func(_, _ []int32) { ran = true })
	require.False(t, ran)
	small.Number(q.Over(3), x)
	q.Sync()
	x.Close()
	require.Regexp(t, `^\[no elements: .*queue_test\.go:\d+: At: out of range: element 7 of 3\]$`, x.String())
	require.Regexp(t, `^\[no elements: `, halyard.New[int32](q, 99).String())
	q.Fail(errors.New("a later one"))
	require.Equal(t, first, q.Err())
	require.Equal(t, first, q.Close())
	require.Equal(t, first, q.Close())
}

// An error of fmt.Println(x) names the line of the program, not one of package fmt, which calls String.
func TestSiteOfPrintedBuffer(t *testing.T) {
	for _, show := range []func(x any){
		func(x any) { _ = fmt.Sprintln(x) },
		func(x any) { log.New(&strings.Builder{}, "", 0).Println(x) },
		func(x any) { t.Log(x) },
	} {
		q := open(t)
		x := halyard.From(q, []int32{1, 2, 3})
		require.NoError(t, x.Buffer().Close())
		show(x)
		require.ErrorIs(t, q.Err(), hal.ErrClosed)
		require.ErrorContains(t, q.Err(), "queue_test.go:")
	}
}

// When a kernel fails, the queue's error is what it failed with, not that of the call which then found no elements to read.
func TestErrorOfAKernel(t *testing.T) {
	q := open(t)
	y := halyard.New[float32](q, 10)
	small.Saxpy(q, 1, halyard.New[float32](q, 3), y)
	require.Equal(t, make([]float32, 10), y.Values())
	require.Regexp(t, `queue_test\.go:\d+: host:0: launch: .* kernel saxpy, .* index out of range \[3\] with length 3 \(small\.go:\d+\)$`, q.Err().Error())
	require.NotContains(t, q.Err().Error(), "overwrite or reset")
}

func TestNilAndZeroValuesDoNothing(t *testing.T) {
	for _, q := range []*halyard.Queue{nil, {}} {
		require.ErrorIs(t, q.Err(), hal.ErrInvalidArgument)
		require.ErrorIs(t, q.Close(), hal.ErrInvalidArgument)
		q.Sync()
		q.Fail(hal.ErrBusy)
		require.Nil(t, q.Device())
		require.Nil(t, q.Stream())
		require.Equal(t, "no device", q.String())
		x := halyard.New[int32](q, 2)
		small.Number(q.Over(1), x)
		require.Equal(t, []int32{0, 0}, halyard.From(q, []int32{1, 2}).Values())
	}
	var x *halyard.Buffer[int32]
	x.Set(0, 1)
	x.Fill(1)
	x.Close()
	x.CopyFrom(nil)
	x.View(nil)
	require.Empty(t, x.Values())
	require.Zero(t, x.At(0))
	require.Empty(t, x.Slice(0, 1).Values())
	q := open(t)
	small.Saxpy(q, 1, nil, (*halyard.Buffer[float32])(nil))
	require.ErrorContains(t, q.Err(), "argument x")
	q = open(t)
	small.Saxpy(q, 1, (*buffer.Buffer[float32])(nil), halyard.New[float32](q, 1))
	require.ErrorContains(t, q.Err(), "argument x")
	(*halyard.Queue)(nil).Launched(hal.ErrBusy)
	q = open(t)
	q.Launched(hal.ErrBusy)
	q.Over(2).Launched(nil)
	require.ErrorIs(t, q.Close(), hal.ErrBusy) // does not wait
}

func TestOpenThatFails(t *testing.T) {
	q := halyard.Open(t.Context(), "host:77")
	require.ErrorIs(t, q.Err(), hal.ErrOutOfRange)
	require.Equal(t, "no device", q.String())
	require.ErrorIs(t, q.Close(), hal.ErrOutOfRange)
	require.ErrorIs(t, halyard.Open(t.Context(), "host", "host").Close(), hal.ErrInvalidArgument)
	require.ErrorIs(t, halyard.On(t.Context(), nil).Close(), hal.ErrInvalidArgument)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	q = halyard.Open(over, "host")
	require.Error(t, q.Close())
	<-halyard.Ended(q)
}

func TestStreamOfTheProgramStaysOpen(t *testing.T) {
	d, err := hal.Open(t.Context(), "host")
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	q := halyard.On(t.Context(), s)
	x := halyard.From(q, []int32{1, 2})
	x.Fill(5)
	require.Equal(t, []int32{5, 5}, x.Values())
	require.NoError(t, q.Close())
	require.NoError(t, s.Sync(t.Context()))
	require.Zero(t, x.At(0))
	require.ErrorIs(t, q.Err(), hal.ErrClosed)
	require.NoError(t, errors.Join(s.Close(), d.Close()))
}

func TestSlicesShareElements(t *testing.T) {
	q := open(t)
	x := halyard.From(q, []int32{1, 2, 3, 4})
	x.Slice(1, 3).Fill(-1)
	x.Set(0, 7)
	x.Update(func(s []int32) { s[3]++ })
	require.Equal(t, "[7 -1 -1 5]", x.String())
	require.Equal(t, []uint8{7, 0, 0, 0}, halyard.As[uint8](x).Slice(0, 4).Values())
	x.Slice(2, 4).SetValues([]int32{-2, 5})
	require.Equal(t, []int32{7, -1, -2, 5}, x.Values())
	x.Slice(2, 4).SetValues([]int32{-1, 5})
	y := halyard.New[int32](q, 4)
	y.CopyFrom(x)
	halyard.View2(x, y, func(a, b []int32) { require.Equal(t, a, b) })
	require.Equal(t, "[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 ... 84 more]", halyard.New[uint8](q, 100).String())
	require.NoError(t, q.Close())
}

// Buffers that a loop drops are freed, and the queue keeps nothing of them.
func TestDroppedBuffersAreFreed(t *testing.T) {
	q := open(t)
	for range 200 {
		x := halyard.New[float32](q, 1<<10)
		small.Saxpy(q, 2, x, x)
	}
	q.Sync()
	require.NoError(t, q.Err())
	require.Eventually(t, func() bool { runtime.GC(); return halyard.Made(q) == 0 }, 10*time.Second, time.Millisecond)
}

// An error that nobody reads is reported when the queue is gone.
func TestUnreadErrorIsReported(t *testing.T) {
	leaks := make(chan hal.Leak, 100)
	before := hal.SetLeakHandler(func(l hal.Leak) { leaks <- l })
	defer func() { hal.SetLeakHandler(before) }()
	func() {
		q := halyard.Open(t.Context(), "host:77")
		q.Sync()
	}()
	require.Eventually(t, func() bool {
		runtime.GC()
		select {
		case l := <-leaks:
			return strings.Contains(l.Object, "queue with an error that was not read") && strings.Contains(l.Object, "queue_test.go:")
		default:
			return false
		}
	}, 10*time.Second, time.Millisecond)
}

func TestManyGoroutines(t *testing.T) {
	q := open(t)
	x := halyard.New[float32](q, 64)
	done := make(chan struct{})
	for range 8 {
		go func() {
			for range 50 {
				y := halyard.From(q, ones(64))
				small.Saxpy(q, 1, y, x)
			}
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-done
	}
	require.Equal(t, float32(400), x.At(63))
	require.NoError(t, q.Close())
}

// Close waits for calls of other goroutines, and frees the buffers that they make meanwhile.
func TestCloseWhileOthersWork(t *testing.T) {
	leaks := make(chan hal.Leak, 1000)
	before := hal.SetLeakHandler(func(l hal.Leak) { leaks <- l })
	defer func() { hal.SetLeakHandler(before) }()
	for range 20 {
		q := halyard.Open(t.Context(), "host")
		x := halyard.New[float32](q, 64)
		inside, done := make(chan struct{}), make(chan struct{})
		for i := range 4 {
			go func() {
				if i == 0 {
					x.View(func([]float32) {
						close(inside)
						for !halyard.Closing(q) {
							runtime.Gosched()
						}
					})
				}
				for q.Err() == nil {
					y := halyard.From(q, ones(64))
					small.Saxpy(q, 1, y, x)
				}
				done <- struct{}{}
			}()
		}
		<-inside
		if err := q.Close(); err != nil { // a call that came after it may be the first with an error
			require.ErrorIs(t, err, hal.ErrClosed)
			require.ErrorContains(t, err, "the queue is closed")
		}
		for range 4 {
			<-done
		}
	}
	for range 3 { // the cleanup of something that became unreachable after all the rest
		swept := make(chan struct{})
		runtime.AddCleanup(new([64]byte), func(c chan struct{}) { close(c) }, swept)
		for over := false; !over; {
			runtime.GC()
			select {
			case <-swept:
				over = true
			default:
			}
		}
	}
	for len(leaks) > 0 {
		t.Error(<-leaks)
	}
}

// A function on the elements that lasts longer than the queue's context does not hold Close up.
func TestCloseEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	q := halyard.Open(ctx, "host")
	x := halyard.New[int32](q, 2)
	x.View(func([]int32) {
		go cancel()
		require.ErrorIs(t, q.Close(), context.Canceled)
	})
	<-halyard.Ended(q)
}

// Nor does work that is still under way, which the device finishes after Close.
func TestCloseDoesNotWaitForWorkAfterTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	q := halyard.Open(ctx, "host")
	x := halyard.New[int32](q, 2)
	hold := make(chan struct{})
	waits := kernel.Go(func(*kernel.Block) { <-hold })
	held := kernel.New(kernel.Source{Go: kernel.Functions{"held": waits}}).Kernel("held")
	require.NoError(t, held.Launch(ctx, q.Stream(), hal.Over(1), kernel.InOut(x)))
	cancel()
	closed := make(chan error)
	go func() { closed <- q.Close() }()
	select {
	case err := <-closed:
		close(hold)
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(5 * time.Second):
		close(hold)
		t.Error("Close waits for a kernel")
	}
	<-halyard.Ended(q)
}

func ones(n int) (s []float32) {
	for range n {
		s = append(s, 1)
	}
	return s
}

// Conflicts, traces and logs of package buffer name the program's line, not one of package halyard.
func TestActivityNamesTheProgram(t *testing.T) {
	q := open(t)
	var sites []string
	stop := buffer.Observe(func(a buffer.Activity) { sites = append(sites, a.Site()) })
	x := halyard.From(q, []float32{1})
	small.Saxpy(q, 1, x, x)
	x.Fill(3)
	_ = x.Values()
	stop()
	require.NotEmpty(t, sites)
	for _, s := range sites {
		require.Contains(t, s, "queue_test.go:")
	}
}
