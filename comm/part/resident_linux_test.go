package part_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/internal/testing/divided"
)

// resident returns the bytes of the process's pages that are in memory.
func resident() (int, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, errors.New("no numbers in statm")
	}
	n, err := strconv.Atoi(fields[1])
	return n * os.Getpagesize(), err
}

// A rank on the host reserves addresses for all elements of a buffer. The system gives it pages for those that it reads or writes.
func TestRanksHoldWhatTheyUse(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has memory of its own for each byte")
	}
	const (
		n     = 4096
		ranks = 4
		bytes = 2 * n * n * 4 // of both buffers
	)
	before, err := resident()
	require.NoError(t, err)
	require.NoError(t, among(t, ranks, []string{"host:0"}, nil, func(q *part.Queue, rank int) {
		x, y := halyard.New[float32](q.Queue, n*n), halyard.New[float32](q.Queue, n*n)
		for range 2 {
			divided.Spread(q.Over(n, n), n, n, x, y)
			x, y = y, x
		}
		q.Allgather(halyard.New[float32](q.Queue, 1)) // all ranks have come here
		q.Sync()
		during, err := resident()
		if err == nil && (during < before+bytes*3/4 || during > before+2*bytes) {
			err = fmt.Errorf("%d ranks hold %d bytes for %d bytes of elements", ranks, during-before, bytes)
		}
		q.Fail(err)
	}))
}
