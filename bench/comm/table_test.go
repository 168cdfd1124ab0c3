package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/bench/internal/frame"
)

func TestTable(t *testing.T) {
	var c, ours samples
	c.read("a banner of mpiexec\n8 bytes\t300\n8 bytes\t200\n1 MiB\t100000\nhalos\t1000\nwaiting\t1.0\n")
	var text strings.Builder
	for _, r := range rows {
		text.WriteString(r.ours + "\t900\n" + r.ours + "\t500\n" + r.ours + ", allocations\t2\n")
	}
	err := frame.Do(func() { table(&c, &ours) })
	require.ErrorContains(t, err, "no run has a figure")
	ours.read(text.String() + "waiting\t0.025\n")
	got := table(&c, &ours)
	require.Contains(t, got, "| 8 bytes, Go slices, one way | 0.20 µs | 0.50 µs | 0.30 µs | 2.50 | 2.50 - 2.50 | 2 |\n")
	require.Contains(t, got, "| `Exchange` of ghosts that are current | | 0.50 µs | | | | 2 |\n")
	require.Contains(t, got, "takes 2.5 % of a processor after the first millisecond; in C, by `MPI_Recv`, it takes 100 %")

	c.read("8 bytes\t400\n")
	require.ErrorContains(t, frame.Do(func() { table(&c, &ours) }), `run 2 has no figure of "1 MiB"`)
	require.Error(t, frame.Do(func() { c.read("8 bytes\tmany\n") }))
}
