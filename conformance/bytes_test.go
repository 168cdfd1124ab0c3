package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDifference(t *testing.T) {
	require.Empty(t, difference([]byte{1, 2}, []byte{1, 2}))
	require.Equal(t, "1 bytes, want 2", difference([]byte{1}, []byte{1, 2}))
	require.Equal(t, "2 of 3 bytes differ, first at 1: got 09 09, want 02 03", difference([]byte{1, 9, 9}, []byte{1, 2, 3}))
	require.Equal(t, "some of 2 bytes differed, and changed while they were compared", mismatch([]byte{1, 2}, []byte{1, 2}))
}
