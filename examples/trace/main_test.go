package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlicesCopyLessAndSayTheSame(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	t.Setenv("HALYARD_DEVICES", "host:1")
	var sums []string
	var copied []int
	for _, slices := range []bool{false, true} {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), &out, slices))
		var n, elements int
		var sum string
		_, err := fmt.Sscanf(out.String(), "host:1 (simulated): %d bytes copied, the first %d elements add up to %s\n", &n, &elements, &sum)
		require.NoError(t, err, out.String())
		sums, copied = append(sums, sum), append(copied, n)
	}
	require.Equal(t, sums[0], sums[1])
	require.Equal(t, []int{20 * elements * 4, 10 * 2 * edge * 4}, copied)
}
