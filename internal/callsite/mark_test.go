package callsite

import (
	"testing"

	"github.com/stretchr/testify/require"
)

//go:noinline
func helper() { Mark() }

//go:noinline
func library(s *Site) {
	helper()
	inner(s)
}

//go:noinline
func another() { helper() }

// Marks are few, and cost little once they are there.
func TestMarks(t *testing.T) {
	marks.some.Store(false) // an earlier run of the test has marked
	marks.calls.Clear()
	marks.names.Clear()
	marks.count = 0
	var s Site
	for range 10 {
		library(&s)
	}
	require.True(t, Marked())
	require.True(t, IsMarked("github.com/go-halyard/halyard/internal/callsite.library"))
	require.False(t, IsMarked("github.com/go-halyard/halyard/internal/callsite.helper"))
	another()
	require.True(t, IsMarked("github.com/go-halyard/halyard/internal/callsite.another"), "each call is told from the others")
	require.Equal(t, 2, marks.count)
	require.Zero(t, testing.AllocsPerRun(100, func() { library(&s) }))
	require.Regexp(t, `mark_test.go:\d+$`, s.Outside("no such package"))
}
