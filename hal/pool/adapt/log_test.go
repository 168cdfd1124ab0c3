package adapt_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/hal/pool/adapt"
)

func TestLogIsReadBackAndReplayed(t *testing.T) {
	d := openHost(t, 1, 64*mib)
	p, a, b := newPool(t, d), newStream(t, d), newStream(t, d)
	var out bytes.Buffer
	l, flush := adapt.Log(p, &out)
	x, y := alloc(t, l, a, 300), alloc(t, l, b, 5000)
	_, err := l.Alloc(a, hal.KindDevice, 65*mib)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	free(t, x, b)
	require.ErrorIs(t, x.Free(b), hal.ErrClosed)
	strange := alloc(t, newPool(t, d), a, 1)
	require.ErrorIs(t, l.Free(strange, a), hal.ErrInvalidArgument)
	free(t, strange, a)
	z, err := l.Alloc(nil, hal.KindHost, 7)
	require.NoError(t, err)
	require.NoError(t, flush())
	require.True(t, strings.HasPrefix(out.String(), "Time,Action,Pointer,Size,Stream,Kind\n"))

	lines := logFields(t, out.String())
	require.Len(t, lines, 5)
	var told []string
	last := ""
	for _, f := range lines {
		_, err := time.Parse(time.RFC3339Nano, f[0])
		require.NoError(t, err)
		require.GreaterOrEqual(t, f[0], last, "times are written so that text sorts as they do")
		last = f[0]
		told = append(told, strings.Join([]string{f[1], f[5], f[3]}, " "))
	}
	require.Equal(t, []string{"allocate device 300", "allocate device 5000", "allocate failure device 68157440",
		"free device 300", "allocate host 7"}, told)
	const pointer, stream = 2, 4
	require.Equal(t, lines[0][pointer], lines[3][pointer])
	require.Equal(t, lines[1][stream], lines[3][stream])
	require.NotEqual(t, lines[0][stream], lines[1][stream])
	require.Equal(t, "0", lines[4][stream])
	r := region(t, y)
	require.Equal(t, fmt.Sprintf("%#x", uint64(r.Mem.Handle())+r.Off), lines[1][pointer])

	replay, err := adapt.ReadLog(&out)
	require.NoError(t, err)
	require.Equal(t, 2, replay.Streams())
	c := count(p)
	_, _, err = replay.Run(c, []*hal.Stream{a})
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	failures, took, err := replay.Run(c, []*hal.Stream{a, b})
	require.NoError(t, err)
	require.Positive(t, took)
	require.Zero(t, failures)
	require.Equal(t, 3, c.total)
	blocks, _ := c.live()
	require.Zero(t, blocks, "what the log left live was left live")
	failures, _, err = replay.Run(adapt.Limit(p, 1000), []*hal.Stream{a, b})
	require.NoError(t, err)
	require.Equal(t, 1, failures)
	free(t, y, b)
	free(t, z, nil)
}

// logFields returns the fields of the lines of a log, without its first.
func logFields(t *testing.T, log string) [][]string {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(log)).ReadAll()
	require.NoError(t, err)
	return lines[1:]
}

// An allocator below the logger may call it, and may hand an address on before Free has come back.
func TestLogOfAllocatorThatCalls(t *testing.T) {
	d := openHost(t, 1, 64*mib)
	m, err := d.Alloc(hal.KindHost, 64, 0)
	require.NoError(t, err)
	var out bytes.Buffer
	var l pool.Allocator
	var flush func() error
	var next pool.Block
	again := false
	l, flush = adapt.Log(pool.Callbacks(
		func(*hal.Stream, hal.Kind, uint64) (hal.Region, error) { return m.All(), nil },
		func(r hal.Region, _ *hal.Stream) error {
			if !again {
				again = true
				next = alloc(t, l, nil, 64)
			}
			return flush()
		}), &out)
	free(t, alloc(t, l, nil, 64), nil)
	free(t, next, nil)
	require.NoError(t, flush())
	var told []string
	for _, f := range logFields(t, out.String()) {
		told = append(told, f[1])
	}
	require.Equal(t, []string{"allocate", "free", "allocate", "free"}, told)
	require.NoError(t, m.Close())
}

func TestLogsThatAreNone(t *testing.T) {
	const header = "Time,Action,Pointer,Size,Stream,Kind\n"
	const at = "2026-01-02T03:04:05.000000006Z,"
	for text, where := range map[string]string{
		"":                                      "line 1",
		"Time,Action\n":                         "line 1",
		header + "x\n":                          "line 2",
		header + at + "allocate,0x1,1,device\n": "line 2",
		header + at + "take,0x1,1,0,device\n":   "line 2",
		header + at + "allocate,0x1,1,0,devices\n":                                   "line 2",
		header + at + "allocate,zz,1,0,device\n":                                     "line 2",
		header + at + "allocate,0x1,-1,0,device\n":                                   "line 2",
		header + at + "allocate,0x1,1,0,device\n" + at + "free,0x1,1,s,device\n":     "line 3",
		header + "yesterday,allocate,0x1,1,0,device\n":                               "line 2",
		header + at + "free,0x1,1,0,device\n":                                        "line 2",
		header + at + "allocate,0x1,1,0,device\n" + at + "allocate,0x1,1,0,device\n": "line 3",
	} {
		_, err := adapt.ReadLog(strings.NewReader(text))
		require.ErrorIs(t, err, hal.ErrInvalidArgument, "%q", text)
		require.ErrorContains(t, err, where, "%q", text)
	}
}

func TestLogTellsThatItCouldNotWrite(t *testing.T) {
	p := newPool(t, openHost(t, 1, 0))
	l, flush := adapt.Log(p, failingWriter{})
	free(t, alloc(t, l, nil, 1), nil)
	require.ErrorIs(t, flush(), errWriter)
	require.ErrorIs(t, flush(), errWriter)
}

// What was refused, and blocks of 0 bytes, leave a log that can be read.
func TestLogOfRefusals(t *testing.T) {
	d := openHost(t, 1, 256*mib)
	var w bytes.Buffer
	l, flush := adapt.Log(pool.Direct(d), &w)
	_, err := l.Alloc(nil, hal.Kind(9), 10)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	x, y := alloc(t, l, nil, 0), alloc(t, l, nil, 0)
	free(t, x, nil)
	free(t, y, nil)
	require.ErrorIs(t, y.Free(nil), hal.ErrClosed)
	require.NoError(t, flush())
	require.Len(t, logFields(t, w.String()), 5)
	replay, err := adapt.ReadLog(&w)
	require.NoError(t, err, "blocks of 0 bytes have one address")
	c := count(pool.Direct(d))
	_, _, err = replay.Run(c, nil)
	require.NoError(t, err)
	require.Zero(t, c.total)
}

// BenchmarkReplay runs a log of a training loop's kind on a pool and on the device itself.
func BenchmarkReplay(b *testing.B) {
	f, err := os.Open("testdata/steps.csv")
	require.NoError(b, err)
	defer f.Close()
	replay, err := adapt.ReadLog(f)
	require.NoError(b, err)
	for _, name := range []string{"pool", "direct"} {
		b.Run(name, func(b *testing.B) {
			d := openHost(b, 1, 0)
			a := pool.Direct(d)
			if name == "pool" {
				a = newPool(b, d)
			}
			var streams []*hal.Stream
			for range replay.Streams() {
				streams = append(streams, newStream(b, d))
			}
			for b.Loop() {
				_, _, err := replay.Run(a, streams)
				require.NoError(b, err)
			}
		})
	}
}

// The log of the benchmark is one, and a pool takes it.
func TestReplayOfTheBenchmark(t *testing.T) {
	text, err := os.ReadFile("testdata/steps.csv")
	require.NoError(t, err)
	replay, err := adapt.ReadLog(bytes.NewReader(text))
	require.NoError(t, err)
	d := openHost(t, 1, 0)
	p := newPool(t, d)
	var streams []*hal.Stream
	for range replay.Streams() {
		streams = append(streams, newStream(t, d))
	}
	c := count(p)
	failures, _, err := replay.Run(c, streams)
	require.NoError(t, err)
	require.Zero(t, failures)
	require.Equal(t, strings.Count(string(text), ",allocate,"), c.total, "each such line allocates")
	require.Zero(t, p.Stats().Blocks)
}
