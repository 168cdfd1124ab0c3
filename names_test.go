package halyard_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/small"
)

// The host backend has discrete devices too.
func TestMain(m *testing.M) {
	os.Setenv("HALYARD_HOST_DEVICES", "1")
	os.Exit(m.Run())
}

// An error names the line of the program, the method that it called there, and what it called the buffer.
func TestErrorsNameWhatTheProgramCalled(t *testing.T) {
	for _, c := range []struct {
		want string
		do   func(q *halyard.Queue, x *halyard.Buffer[float32])
	}{
		{`At: out of range: element 7 of 3 in buffer "points"`, func(_ *halyard.Queue, x *halyard.Buffer[float32]) { x.At(7) }},
		{`Slice: out of range: \[2, 9\) of 3 elements in buffer "points"`, func(_ *halyard.Queue, x *halyard.Buffer[float32]) { x.Slice(2, 9) }},
		{`As: invalid argument: 12 bytes are not a multiple`, func(_ *halyard.Queue, x *halyard.Buffer[float32]) { halyard.As[float64](x) }},
		{`Values: already closed: buffer "points" is closed`, func(_ *halyard.Queue, x *halyard.Buffer[float32]) { x.Close(); x.Values() }},
		{`Fill: already closed: buffer "points" is closed`, func(_ *halyard.Queue, x *halyard.Buffer[float32]) { x.Close(); x.Fill(1) }},
		{`SetValues: invalid argument: .*3`, func(_ *halyard.Queue, x *halyard.Buffer[float32]) { x.SetValues(make([]float32, 2)) }},
		{`String: already closed: buffer "points" is closed`, func(_ *halyard.Queue, x *halyard.Buffer[float32]) { x.Close(); _ = x.String() }},
		{`Values: already closed: the queue is closed`, func(q *halyard.Queue, x *halyard.Buffer[float32]) { _ = q.Close(); x.Values() }},
		{`New: already closed: the queue is closed`, func(q *halyard.Queue, _ *halyard.Buffer[float32]) { _ = q.Close(); halyard.New[int32](q, 1) }},
		{`Sync: already closed: the queue is closed`, func(q *halyard.Queue, _ *halyard.Buffer[float32]) { _ = q.Close(); q.Sync() }},
		{`launch: already closed: the queue is closed`, func(q *halyard.Queue, x *halyard.Buffer[float32]) { _ = q.Close(); small.Saxpy(q, 1, x, x) }},
		{`host:0: launch: already closed: kernel saxpy: argument y: buffer "points" is closed`,
			func(q *halyard.Queue, x *halyard.Buffer[float32]) {
				x.Close()
				small.Saxpy(q, 1, halyard.New[float32](q, 3), x)
			}},
		{`host:0: launch: invalid argument: kernel saxpy: argument x: nil or zero buffer`,
			func(q *halyard.Queue, x *halyard.Buffer[float32]) { small.Saxpy(q, 1, &halyard.Buffer[float32]{}, x) }},
		{`host:0: launch: invalid argument: kernel saxpy: argument x is a nil buffer`, func(q *halyard.Queue, x *halyard.Buffer[float32]) { small.Saxpy(q, 1, nil, x) }},
		{`CopyFrom: invalid argument: nil or zero buffer`, func(_ *halyard.Queue, x *halyard.Buffer[float32]) { x.CopyFrom(&halyard.Buffer[float32]{}) }},
		{`host:0: launch: invalid argument: kernel paint: its threads have 2 dimensions \(small\.go:\d+\), and the grid has 1; give a number for each, as in Over\(width, height\)`,
			func(q *halyard.Queue, _ *halyard.Buffer[float32]) {
				small.Paint(q.Over(4), small.Frame{Width: 2, Height: 2}, halyard.New[int32](q, 4))
			}},
	} {
		q := open(t)
		c.do(q, halyard.New[float32](q, 3, buffer.WithName("points")))
		assert.Regexp(t, `names_test\.go:\d+: `+c.want, q.Err().Error())
	}
}

// A buffer without elements says why it has none.
func TestBufferOfAQueueThatHasFailed(t *testing.T) {
	q, failed := open(t), halyard.Open(t.Context(), "host:77")
	x := halyard.New[float32](failed, 3)
	small.Saxpy(q, 1, x, halyard.New[float32](q, 3))
	require.Regexp(t, `argument x: the queue of the buffer has failed: .*names_test\.go:\d+: host: Open: out of range: there is no device 77`, q.Err().Error())
	require.ErrorIs(t, q.Err(), hal.ErrInvalidArgument)
	require.ErrorIs(t, q.Err(), hal.ErrOutOfRange)
	q = open(t)
	halyard.New[float32](q, 3).CopyFrom(x)
	require.ErrorContains(t, q.Err(), "CopyFrom: invalid argument: the queue of the buffer has failed: ")
	require.Error(t, failed.Close())
}

func TestZeroBufferDoesNothing(t *testing.T) {
	var x halyard.Buffer[int32]
	x.Set(0, 1)
	x.Fill(1)
	x.Close()
	x.CopyFrom(&x)
	x.View(func([]int32) { t.Error("ran") })
	x.Update(func([]int32) { t.Error("ran") })
	halyard.View2(&x, &x, func(_, _ []int32) { t.Error("ran") })
	require.Zero(t, x.At(0)+int32(x.Len())+int32(len(x.Values()))+int32(x.Slice(0, 1).Len())+int32(halyard.As[int64](&x).Len()))
	require.Nil(t, x.Buffer())
	require.Equal(t, "[]", x.String())
	require.Error(t, x.Want(coherence.Read).Err())
}

func TestOpenSaysWhichDevicesThereAre(t *testing.T) {
	for _, name := range []string{"gpu", "", "host:77"} {
		err := halyard.Open(t.Context(), name).Close()
		require.Regexp(t, `^\S*names_test\.go:\d+: (host: )?Open: .*; the devices here are .*host:0`, err.Error())
	}
	var none context.Context
	require.Regexp(t, `^\S*names_test\.go:\d+: Open: invalid argument: nil context$`, halyard.Open(none).Close().Error())
	require.ErrorContains(t, halyard.On(none, open(t).Stream()).Close(), "On: invalid argument: nil context")
}

// Queues whose buffers are on each other's devices can be closed in any order.
func TestQueuesCloseInAnyOrder(t *testing.T) {
	before := hal.SetLeakHandler(func(l hal.Leak) { t.Error(l) })
	defer func() { hal.SetLeakHandler(before) }()
	p, q := halyard.Open(t.Context(), "host:0"), halyard.Open(t.Context(), "host:1")
	x, y := halyard.From(p, []float32{1, 2, 3}), halyard.From(q, []float32{10, 20, 30})
	small.Saxpy(p, 2, y, x)
	small.Saxpy(q, 1, y, x) // now x is current at q's device alone
	require.NoError(t, q.Close())
	require.Equal(t, []float32{31, 62, 93}, x.Values())
	small.Saxpy(p, 1, x, x)
	require.Equal(t, []float32{62, 124, 186}, x.Values())
	require.NoError(t, p.Close())
}

// Traces and logs name the kernel and its parameter in Go, and the buffer.
func TestActivityNamesKernelAndParameter(t *testing.T) {
	q := halyard.Open(t.Context(), "host:1")
	defer func() { _ = q.Close() }()
	x, y := halyard.From(q, []float32{1}, buffer.WithName("input")), halyard.From(q, []float32{2})
	var seen []string
	stop := buffer.Observe(func(a buffer.Activity) {
		if a.Kind == buffer.ActivityCopy {
			seen = append(seen, a.Name+": "+a.Cause)
		}
	})
	small.Saxpy(q, 1, x, y)
	q.Sync()
	stop()
	require.ElementsMatch(t, []string{"input: Launch saxpy(x)", ": Launch saxpy(y)"}, seen)
}

// A launch that an access of the program excludes until its context ends names both, the parameter and the buffer.
func TestConflictNamesKernelParameterAndBuffer(t *testing.T) {
	q := open(t)
	x, y := halyard.From(q, []float32{1}), halyard.From(q, []float32{1}, buffer.WithName("points"))
	small.Saxpy(q, 1, x, y)
	second := halyard.On(&ending{Context: t.Context()}, q.Stream())
	y.Update(func([]float32) { small.Saxpy(second, 1, x, y) })
	require.NoError(t, q.Err())
	require.Regexp(t, `names_test\.go:\d+: Launch saxpy\(y\): not ready: buffer "points": ReadWrite of \[0, 1\) at host:0 \(.*names_test\.go:\d+\) has to wait for `+
		`ReadWrite of \[0, 1\) at host \(.*names_test\.go:\d+\)(, of this goroutine or of one that has ended)?: context canceled`, second.Close().Error())
	<-halyard.Ended(second)
}

// ending is a context that ends as soon as somebody waits for its end.
type ending struct {
	context.Context
	ended atomic.Bool
}

func (e *ending) Done() <-chan struct{} {
	e.ended.Store(true)
	done := make(chan struct{})
	close(done)
	return done
}

func (e *ending) Err() error {
	if e.ended.Load() {
		return context.Canceled
	}
	return nil
}

const childVariable = "HALYARD_TEST_CHILD"

// The environment variables of package trace work without an import of it.
func TestTraceOfTheEnvironment(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		q := halyard.Open(context.Background(), "host")
		_ = halyard.From(q, []float32{1, 2, 3}, buffer.WithName("points")).Values()
		require.NoError(t, q.Close())
		return
	}
	file := filepath.Join(t.TempDir(), "trace.json")
	cmd := exec.Command(os.Args[0], "-test.run=^TestTraceOfTheEnvironment$")
	cmd.Env = append(os.Environ(), childVariable+"=1", "HALYARD_TRACE="+file, "HALYARD_DEBUG=log")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "halyard: alloc")
	require.Contains(t, string(out), "name=points")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "points")
	require.Contains(t, string(text), "names_test.go:")
}
