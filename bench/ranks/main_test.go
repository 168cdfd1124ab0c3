package main

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/comm/part"
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

// What is kept and looked at grows with the ranks only where a layout has a number for each rank.
func TestPlansGrowOnlyWithStarts(t *testing.T) {
	for _, p := range problems {
		some, err := p.plan(512)
		require.NoError(t, err, p.name)
		more, err := p.plan(4096)
		require.NoError(t, err, p.name)
		switch {
		case p.name == "1-D, explicit starts":
			assert.GreaterOrEqual(t, more.entries-some.entries, 4096-512)
		case p.to != nil: // a part meets more others
			assert.LessOrEqual(t, more.steps, 2*some.steps, p.name)
		default:
			assert.LessOrEqual(t, more.steps, some.steps, p.name)
			assert.LessOrEqual(t, more.entries, some.entries, p.name)
		}
	}
}

// A rank that sends something else than was planned fails the measurement, and so do plans that differ.
func TestWhatWasNotPlannedIsAnError(t *testing.T) {
	p := problems[1]
	var calls atomic.Int64
	p.halo = func(rank, ranks int) part.Halo {
		if calls.Add(1) > 8 { // once each rank has planned
			return part.Width(2, 2)
		}
		return around(2, true)(rank, ranks)
	}
	_, err := measure(t.Context(), p, 8)
	require.ErrorContains(t, err, "in place of")
	p.halo = func(rank, ranks int) part.Halo { return around(2, rank > 0)(rank, ranks) }
	_, err = p.plan(8)
	require.ErrorContains(t, err, "plans to receive")
}

func TestReport(t *testing.T) {
	all := []curve{{"grid", []point{{ranks: 1, made: time.Microsecond}, {ranks: 8, made: 1234 * time.Microsecond, bytes: 16, messages: 2,
		plan: planned{entries: 7, steps: 9, took: 3 * time.Microsecond}}}},
		{"other", []point{{ranks: 8, bytes: 5, messages: 1, redistribution: true}}}}
	text := markdown(all, "ranks.svg")
	assert.Contains(t, text, ", Halyard at "+timing.Version()+"; ranks are goroutines")
	assert.Contains(t, text, "| grid | 8 | 2 | 16 | 7 | 9 | 3 µs | 1.2ms | 0s | 0s | 0 |")
	assert.Contains(t, text, "| other | 8 | 1 | 5 | 0 | 0 | 0s | 0s | 0s |  |  |")
	assert.Equal(t, 1, strings.Count(text, "(ranks.svg)"))
	require.NoError(t, page(all).Write(filepath.Join(t.TempDir(), "ranks.svg")))
	require.ErrorContains(t, run(t.Context(), 1, filepath.Join(t.TempDir(), "missing.md"), ""), "missing.md")
}
