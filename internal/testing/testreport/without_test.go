package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
left out, as f says; make test-all runs it:
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

// Tests are left out by their names alone, so each is there. Where make tests all packages, no other package has one of that name.
func TestTestsThatAreLeftOutAreThere(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	for _, file := range []string{"without.txt", "race.txt", "moving.txt"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		w, err := parseWithout(file, string(text))
		require.NoError(t, err)
		for _, r := range w.reasons {
			for _, name := range r.names {
				m := isTest.FindStringSubmatch(name)
				if m == nil {
					assert.DirExists(t, filepath.Join(root, strings.TrimSuffix(name, "/...")), file)
					continue
				}
				out, err := exec.Command("grep", "-rlE", "--include=*_test.go", "^func "+regexp.QuoteMeta(m[2])+"\\(", root).Output()
				require.NoError(t, err, name)
				var folders []string
				for _, found := range strings.Fields(string(out)) {
					folders = append(folders, filepath.Dir(found))
				}
				slices.Sort(folders)
				folders = slices.Compact(folders)
				assert.Contains(t, folders, filepath.Join(root, m[1]), "%s: %s", file, name)
				assert.True(t, file != "without.txt" || len(folders) == 1, "%s: %s is in %s", file, name, folders)
			}
		}
	}
}

// What a file leaves out comes beside what -skip names, and packages are those of the tags.
func TestArgumentsOfGoTest(t *testing.T) {
	w, err := parseWithout("f", "late: internal/testing/testreport.TestX")
	require.NoError(t, err)
	args, err := w.arguments([]string{"-skip", "TestY", "-tags", "cuda", "-v", "./."})
	require.NoError(t, err)
	assert.Equal(t, []string{"-skip", "^(TestX)$|TestY", "-tags", "cuda", "-v", "github.com/go-halyard/halyard/internal/testing/testreport"}, args)

	text, err := os.ReadFile("race.txt")
	require.NoError(t, err)
	w, err = parseWithout("race.txt", string(text))
	require.NoError(t, err)
	args, err = w.arguments([]string{"-tags", "cuda opencl hip vulkan", "github.com/go-halyard/halyard/..."})
	require.NoError(t, err, "each name is a package")
	assert.Contains(t, args, "github.com/go-halyard/halyard/backends/cuda")
	assert.NotContains(t, args, "github.com/go-halyard/halyard/backends/hip")
}
