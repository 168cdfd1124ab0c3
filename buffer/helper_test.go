package buffer_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// launch and the three below are a library.
func launch(depth int, s *hal.Stream, b *buffer.Buffer[int32], mode coherence.Mode) (buffer.Lease, error) {
	buffer.Helper()
	return prepared(depth, s, b, mode)
}

func prepared(depth int, s *hal.Stream, b *buffer.Buffer[int32], mode coherence.Mode) (buffer.Lease, error) {
	buffer.Helper()
	return deeper(depth, s, b, mode)
}

//go:noinline
func deeper(n int, s *hal.Stream, b *buffer.Buffer[int32], mode coherence.Mode) (buffer.Lease, error) {
	buffer.Helper()
	if n > 0 {
		return deeper(n-1, s, b, mode)
	}
	return func() (buffer.Lease, error) {
		buffer.Helper()
		return b.TryAcquire(s, mode)
	}()
}

func here() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file, line)
}

// A library's caller is named in its place, on both sides of a conflict. Marks stay for the life of the process, so this has one of its own.
func TestHelper(t *testing.T) {
	if os.Getenv("HELPER_TEST") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHelper$", "-test.v")
		cmd.Env = append(os.Environ(), "HELPER_TEST=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestHelper")
		return
	}
	d := openMany(t, "one", 1, 1)[0]
	s, other := newStream(t, d), newStream(t, d)
	b := newBuffer(t, []int32{1, 2})
	var sites []string
	stop := buffer.Observe(func(e buffer.Activity) { sites = append(sites, e.Site()) })
	defer stop()
	for depth := range 20 { // the first is noted in full, the others on the short way
		l, err := launch(depth, s, b, coherence.ReadWrite)
		theirs := here()
		require.NoError(t, err)
		if depth < 4 { // an event remembers less
			require.Equal(t, above(theirs), sites[len(sites)-1])
		} else {
			stop() // nobody observes, so the short way is taken
		}
		_, err = launch(depth, other, b, coherence.Read)
		mine := here()
		var c *buffer.ConflictError
		require.ErrorAs(t, err, &c)
		require.Equal(t, above(theirs), c.Holder.Site)
		require.Equal(t, above(mine), c.Requested.Site)
		require.NoError(t, l.Release())
	}
	// What is not marked is named as before.
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	_, err = b.TryAcquire(other, coherence.Read)
	mine := here()
	var c *buffer.ConflictError
	require.ErrorAs(t, err, &c)
	require.Equal(t, above(mine), c.Requested.Site)
	require.NoError(t, l.Release())
}

// above is the line before a place.
func above(place string) string {
	i := strings.LastIndexByte(place, ':')
	var line int
	_, _ = fmt.Sscan(place[i+1:], &line)
	return fmt.Sprintf("%s:%d", place[:i], line-1)
}
