package trace_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/trace"
)

// BenchmarkView is an access that copies nothing, by who watches. With nobody watching it is the access alone.
func BenchmarkView(b *testing.B) {
	discard := func(level slog.Level) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: level}))
	}
	for _, w := range []struct {
		name  string
		watch func(testing.TB) (stop func())
	}{
		{"nobody", func(testing.TB) func() { return func() {} }},
		{"log above accesses", func(testing.TB) func() { return trace.Log(discard(slog.LevelDebug)) }},
		{"log", func(testing.TB) func() { return trace.Log(discard(slog.LevelDebug - 4)) }},
		{"file", func(tb testing.TB) func() {
			f, err := trace.Create(filepath.Join(tb.TempDir(), "t.json"))
			require.NoError(tb, err)
			return func() { require.NoError(tb, f.Close()) }
		}},
	} {
		b.Run(w.name, func(b *testing.B) {
			x, err := buffer.From(make([]byte, 100))
			require.NoError(b, err)
			defer x.Close()
			stop := w.watch(b)
			defer stop()
			b.ReportAllocs()
			for b.Loop() {
				if err := x.View(context.Background(), func([]byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkShortLivedStreams is a stream that is opened, used once and closed, after n others, while a file is written.
func BenchmarkShortLivedStreams(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := open(b, "short", 1, 1)
			defer d.Close()
			f, err := trace.Create(filepath.Join(b.TempDir(), "t.json"))
			require.NoError(b, err)
			defer f.Close()
			one := func() {
				x, err := buffer.From(make([]byte, 100))
				require.NoError(b, err)
				s, err := d.NewStream()
				require.NoError(b, err)
				require.NoError(b, use(x, s))
				require.NoError(b, s.Sync(context.Background()))
				require.NoError(b, s.Close())
				require.NoError(b, x.Close())
			}
			for range n {
				one()
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			for b.Loop() {
				one()
			}
			b.ReportMetric(float64(m.HeapAlloc)/1e6, "heap-MB")
		})
	}
}

func TestNobodyWatchingCostsNoMemory(t *testing.T) {
	x, err := buffer.From(make([]byte, 100))
	require.NoError(t, err)
	defer x.Close()
	access := func() {
		if err := x.View(context.Background(), func([]byte) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	require.Zero(t, testing.AllocsPerRun(100, access))
	stop := buffer.Observe(func(buffer.Activity) {})
	access()
	stop()
	require.Zero(t, testing.AllocsPerRun(100, access), "and again after somebody has watched")
}
