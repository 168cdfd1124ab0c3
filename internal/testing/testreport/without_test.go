package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatIsLeftOutIsTold(t *testing.T) {
	w, err := parseWithout("f", "# a comment: m/x\n\ntakes: long: bench/... doc hal.TestX\nis late: hal.TestY\n")
	require.NoError(t, err)
	kept, skip, err := w.choose([]string{"m", "m/bench", "m/bench/a", "m/benches", "m/doc", "m/doc/guide", "m/hal"})
	require.NoError(t, err)
	assert.Equal(t, []string{"m", "m/benches", "m/doc/guide", "m/hal"}, kept)
	assert.Equal(t, "^(TestX|TestY)$", skip)
	var out strings.Builder
	newReport(&out).finish(w)
	assert.Equal(t, `
not run by make test; make test-all runs it:
  takes: long
      bench/... doc hal.TestX
  is late
      hal.TestY

0 passed, 0 failed, 0 skipped
`, out.String())
}

// A line without names, and a name that fits nothing, would leave nothing out and say that they did.
func TestWhatCannotBeLeftOut(t *testing.T) {
	_, err := parseWithout("f", "\ntakes long\n")
	assert.EqualError(t, err, `f:2: "takes long" has no names after a colon`)
	w, err := parseWithout("f", "takes long: doc gone\n")
	require.NoError(t, err)
	_, _, err = w.choose([]string{"m", "m/doc"})
	assert.ErrorContains(t, err, "gone, which is to be left out, is no package")
}

// Tests are left out by their names alone, so each is there, and in no other package.
func TestTestsThatAreLeftOutAreThere(t *testing.T) {
	text, err := os.ReadFile("without.txt")
	require.NoError(t, err)
	w, err := parseWithout("without.txt", string(text))
	require.NoError(t, err)
	root := filepath.Join("..", "..", "..")
	for _, r := range w.reasons {
		for _, name := range r.names {
			m := isTest.FindStringSubmatch(name)
			if m == nil {
				continue
			}
			found, err := exec.Command("grep", "-rlE", "--include=*_test.go", "^func "+regexp.QuoteMeta(m[2])+"\\(", root).Output()
			require.NoError(t, err, name)
			for _, file := range strings.Fields(string(found)) {
				assert.Equal(t, filepath.Join(root, m[1]), filepath.Dir(file), name)
			}
		}
	}
}
