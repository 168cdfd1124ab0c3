package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	var c, ours samples
	require.NoError(t, c.read("a banner of mpiexec\n8 bytes\t300\n8 bytes\t200\n1 MiB\t100000\nhalos\t1000\nwaiting\t1.0\n"))
	var text strings.Builder
	for _, r := range rows {
		text.WriteString(r.ours + "\t900\n" + r.ours + "\t500\n" + r.ours + ", allocations\t2\n")
	}
	_, err := table(&c, &ours)
	require.ErrorContains(t, err, "no run has a figure")
	require.NoError(t, ours.read(text.String()+"waiting\t0.025\n"))
	got, err := table(&c, &ours)
	require.NoError(t, err)
	require.Contains(t, got, "| 8 bytes, Go slices, one way | 0.20 µs | 0.50 µs | 0.30 µs | 2.50 | 2.50 - 2.50 | 2 |\n")
	require.Contains(t, got, "| `Exchange` of ghosts that are current | | 0.50 µs | | | | 2 |\n")
	require.Contains(t, got, "takes 2.5 % of a processor after the first millisecond; in C, by `MPI_Recv`, it takes 100 %")

	require.NoError(t, c.read("8 bytes\t400\n"))
	_, err = table(&c, &ours)
	require.ErrorContains(t, err, `run 2 has no figure of "1 MiB"`)
	require.Error(t, c.read("8 bytes\tmany\n"))
}
