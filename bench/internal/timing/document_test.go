package timing

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReplaceKeepsTheRest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "doc.md")
	const begin, end = "<!-- peers: begin -->", "<!-- peers: end -->"
	require.NoError(t, os.WriteFile(file, []byte("a\n"+begin+"\nold\n"+end+"\nb\n"), 0o644))
	require.NoError(t, Replace(file, "peers", "new\n"))
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "a\n"+begin+"\nnew\n"+end+"\nb\n", string(got))
	require.NoError(t, os.WriteFile(file, []byte("a\n"), 0o644))
	assert.ErrorContains(t, Replace(file, "peers", "new"), begin)
}

func TestDurations(t *testing.T) {
	for ns, want := range map[float64]string{0.34: "0.3 ns", 42: "42 ns", 1500: "1.5 µs", 15_000: "15 µs", 2.5e6: "2.5 ms", 3e8: "300 ms"} {
		assert.Equal(t, want, Duration(ns))
	}
}
