package trace_test

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
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
		{"scope", func(testing.TB) func() { s := trace.Push("bench"); return func() { s.Pop() } }},
		{"log above accesses", func(testing.TB) func() { return trace.Log(discard(slog.LevelDebug)) }},
		{"log", func(testing.TB) func() { return trace.Log(discard(trace.LevelAccess)) }},
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
	stop := buffer.Observe(func(buffer.Event) {})
	access()
	stop()
	require.Zero(t, testing.AllocsPerRun(100, access), "and again after somebody has watched")
}
