package adapt_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/hal/pool/adapt"
)

func TestLogIsReadBackAndReplayed(t *testing.T) {
	d := openHost(t, 1, 64*mib)
	p, a, b := newPool(t, d, pool.Options{}), newStream(t, d), newStream(t, d)
	var out bytes.Buffer
	l := adapt.Log(p, &out)
	x, y := alloc(t, l, a, 300), alloc(t, l, b, 5000)
	_, err := l.Alloc(a, hal.KindDevice, 65*mib)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	free(t, x, b)
	require.ErrorIs(t, x.Free(b), hal.ErrClosed)
	strange := alloc(t, newPool(t, d, pool.Options{}), a, 1)
	require.ErrorIs(t, l.Free(strange, a), hal.ErrInvalidArgument)
	free(t, strange, a)
	z, err := l.Alloc(nil, hal.KindHost, 7)
	require.NoError(t, err)
	require.NoError(t, l.Flush())
	require.True(t, strings.HasPrefix(out.String(), "Time,Action,Pointer,Kind,Size,Stream\n"))

	lines, err := adapt.ReadLog(&out)
	require.NoError(t, err)
	require.Len(t, lines, 5)
	var told []string
	for i, n := range lines {
		require.False(t, n.Time.IsZero())
		require.False(t, i > 0 && n.Time.Before(lines[i-1].Time))
		told = append(told, fmt.Sprint(n.Action, " ", n.Kind, " ", n.Size))
	}
	require.Equal(t, []string{"allocate device 300", "allocate device 5000", "allocate failure device 68157440",
		"free device 300", "allocate host 7"}, told)
	require.Equal(t, lines[0].Pointer, lines[3].Pointer)
	require.Equal(t, lines[1].Stream, lines[3].Stream)
	require.NotEqual(t, lines[0].Stream, lines[1].Stream)
	require.Zero(t, lines[4].Stream)
	r := region(t, y)
	require.Equal(t, uint64(r.Mem.Handle())+r.Off, lines[1].Pointer)

	replay, err := adapt.NewReplay(lines)
	require.NoError(t, err)
	require.Equal(t, 2, replay.Streams())
	require.Equal(t, 4, replay.Steps())
	c := adapt.Count(p)
	_, err = replay.Run(c, []*hal.Stream{a})
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	done, err := replay.Run(c, []*hal.Stream{a, b})
	require.NoError(t, err)
	done.Took = 0
	require.Equal(t, adapt.Replayed{Allocs: 3, Frees: 1, Peak: 5300}, done)
	require.EqualValues(t, 3, c.Counts().Blocks.Total)
	require.Zero(t, c.Counts().Blocks.Current, "what the log left live was left live")
	done, err = replay.Run(adapt.Limit(p, 1000), []*hal.Stream{a, b})
	require.NoError(t, err)
	require.Equal(t, 1, done.Failures)
	require.Equal(t, 2, done.Allocs)
	free(t, y, b)
	free(t, z, nil)
}

// An allocator below the logger may call it, and may hand an address on before Free has come back.
func TestLogOfAllocatorThatCalls(t *testing.T) {
	d := openHost(t, 1, 64*mib)
	m, err := d.Alloc(hal.KindHost, 64, 0)
	require.NoError(t, err)
	var out bytes.Buffer
	var l *adapt.Logger
	var next pool.Block
	again := false
	l = adapt.Log(pool.Callbacks(
		func(*hal.Stream, hal.Kind, uint64) (hal.Region, error) { return m.All(), nil },
		func(r hal.Region, _ *hal.Stream) error {
			if !again {
				again = true
				next = alloc(t, l, nil, 64)
			}
			return l.Flush()
		}), &out)
	free(t, alloc(t, l, nil, 64), nil)
	free(t, next, nil)
	require.NoError(t, l.Flush())
	lines, err := adapt.ReadLog(&out)
	require.NoError(t, err)
	var told []adapt.Action
	for _, n := range lines {
		told = append(told, n.Action)
	}
	require.Equal(t, []adapt.Action{adapt.ActionAllocate, adapt.ActionFree, adapt.ActionAllocate, adapt.ActionFree}, told)
	require.NoError(t, m.Close())
}

func TestLogsThatAreNone(t *testing.T) {
	const header = "Time,Action,Pointer,Kind,Size,Stream\n"
	const at = "2026-01-02T03:04:05.000000006Z,"
	for text, where := range map[string]string{
		"":                                      "line 1",
		"Time,Action\n":                         "line 1",
		header + "x\n":                          "line 2",
		header + at + "allocate,0x1,device,1\n": "line 2",
		header + at + "take,0x1,device,1,0\n":   "line 2",
		header + at + "allocate,0x1,devices,1,0\n":                               "line 2",
		header + at + "allocate,zz,device,1,0\n":                                 "line 2",
		header + at + "allocate,0x1,device,-1,0\n":                               "line 2",
		header + at + "allocate,0x1,device,1,0\n" + at + "free,0x1,device,1,s\n": "line 3",
		header + "yesterday,allocate,0x1,device,1,0\n":                           "line 2",
	} {
		_, err := adapt.ReadLog(strings.NewReader(text))
		require.ErrorIs(t, err, hal.ErrInvalidArgument, "%q", text)
		require.ErrorContains(t, err, where, "%q", text)
	}
	for _, lines := range [][]adapt.LogLine{
		{{Action: adapt.ActionFree, Pointer: 1}},
		{{Pointer: 1, Size: 1}, {Pointer: 1, Size: 1}},
	} {
		_, err := adapt.NewReplay(lines)
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
	}
	require.Equal(t, "action 9", adapt.Action(9).String())
}

func TestLogTellsThatItCouldNotWrite(t *testing.T) {
	p := newPool(t, openHost(t, 1, 0), pool.Options{})
	l := adapt.Log(p, failingWriter{})
	free(t, alloc(t, l, nil, 1), nil)
	require.ErrorIs(t, l.Flush(), errWriter)
	require.ErrorIs(t, l.Flush(), errWriter)
}

// What was refused leaves a log that can be read.
func TestLogOfRefusals(t *testing.T) {
	d := openHost(t, 1, 256*mib)
	var w bytes.Buffer
	l := adapt.Log(pool.Direct(d), &w)
	_, err := l.Alloc(nil, hal.Kind(9), 10)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.NoError(t, l.Flush())
	_, err = adapt.ReadLog(&w)
	require.NoError(t, err)
}

// BenchmarkReplay runs a log of a training loop's kind on a pool and on the device itself.
func BenchmarkReplay(b *testing.B) {
	f, err := os.Open("testdata/steps.csv")
	require.NoError(b, err)
	defer f.Close()
	lines, err := adapt.ReadLog(f)
	require.NoError(b, err)
	replay, err := adapt.NewReplay(lines)
	require.NoError(b, err)
	for _, name := range []string{"pool", "direct"} {
		b.Run(name, func(b *testing.B) {
			d := openHost(b, 1, 0)
			a := pool.Direct(d)
			if name == "pool" {
				a = newPool(b, d, pool.Options{})
			}
			var streams []*hal.Stream
			for range replay.Streams() {
				streams = append(streams, newStream(b, d))
			}
			for b.Loop() {
				_, err := replay.Run(a, streams)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(replay.Steps()), "ns/step")
		})
	}
}

// The log of the benchmark is one, and a pool takes it.
func TestReplayOfTheBenchmark(t *testing.T) {
	f, err := os.Open("testdata/steps.csv")
	require.NoError(t, err)
	defer f.Close()
	lines, err := adapt.ReadLog(f)
	require.NoError(t, err)
	replay, err := adapt.NewReplay(lines)
	require.NoError(t, err)
	d := openHost(t, 1, 0)
	p := newPool(t, d, pool.Options{})
	var streams []*hal.Stream
	for range replay.Streams() {
		streams = append(streams, newStream(t, d))
	}
	done, err := replay.Run(p, streams)
	require.NoError(t, err)
	require.Zero(t, done.Failures)
	require.Equal(t, replay.Steps(), done.Allocs+done.Frees)
	require.Zero(t, p.Stats().Blocks)
}
