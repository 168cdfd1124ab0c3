package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/bench/internal/timing"
)

// What a rank sends in a regular grid depends on its neighbours alone, and an exchange after which nothing was written sends no elements.
func TestWhatARankSendsDoesNotGrow(t *testing.T) {
	for dims, p := range problems[:3] {
		var points []point
		for _, ranks := range []int{8, 64} {
			at, err := measure(t.Context(), p, ranks)
			require.NoError(t, err, p.name)
			points = append(points, at)
			assert.LessOrEqual(t, at.messages, []int{2, 8, 26}[dims], "%s, %d ranks", p.name, ranks)
			assert.Zero(t, at.cleanBytes, p.name)
			assert.Positive(t, at.messages, p.name)
		}
		assert.Equal(t, points[0].bytes, points[1].bytes, p.name)
	}
}

func TestEveryProblem(t *testing.T) {
	for _, p := range problems {
		for _, ranks := range []int{1, 8} {
			at, err := measure(t.Context(), p, ranks)
			require.NoError(t, err, p.name)
			assert.Equal(t, ranks, at.ranks)
			assert.Equal(t, ranks > 1, at.messages > 0, p.name)
			assert.Equal(t, ranks > 1, at.bytes > 0, p.name)
		}
	}
}

func TestReport(t *testing.T) {
	all := []curve{{"grid", []point{{ranks: 1, made: time.Microsecond}, {ranks: 8, made: 1234 * time.Microsecond, bytes: 16, messages: 2}}},
		{"other", []point{{ranks: 8, bytes: 5, messages: 1}}}}
	text := markdown(all, "ranks.svg")
	assert.Contains(t, text, ", Halyard at "+timing.Version()+"; ranks are goroutines")
	assert.Contains(t, text, "| grid | 8 | 2 | 16 | 1.2ms | 0s | 0s | 0 |")
	assert.Contains(t, text, "| other | 8 | 1 | 5 | 0s | 0s | 0s | 0 |")
	assert.Equal(t, 1, strings.Count(text, "(ranks.svg)"))
	require.NoError(t, page(all).Write(filepath.Join(t.TempDir(), "ranks.svg")))
	file := filepath.Join(t.TempDir(), "missing.md")
	require.ErrorContains(t, frame.Do(func() { run(t.Context(), 1, file, "") }), "missing.md")
}
