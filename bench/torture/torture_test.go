//go:build cuda && hip && opencl && linux

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
	"github.com/go-halyard/halyard/internal/testing/faulty"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

// The scenarios start the test's own binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		child(os.Args[2:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// needsSimulation skips a test where the simulated drivers cannot be built, unless the environment requires them.
func needsSimulation(t *testing.T) {
	_, _, err := simgpu.Build(t.TempDir())
	if errors.Is(err, simgpu.ErrNoCompiler) && !cudahiptest.Required("cuda") {
		t.Skip(err)
	}
	require.NoError(t, err)
}

func TestShortRound(t *testing.T) {
	needsSimulation(t)
	file := filepath.Join(t.TempDir(), "torture.md")
	assert.True(t, options{short: true, seed: 3, document: file}.run(context.Background(), regexp.MustCompile("")))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), " 0 wrong bytes, 0 leaks, 0 vendors' rules broken, 0 unexplained errors, 0 hangs.")
	for _, s := range scenarios {
		assert.Contains(t, string(text), "- **"+s.name+"**: ")
	}
}

// faultyRun does the accesses of a scenario on a host device behind a layer.
func faultyRun(t *testing.T, seed uint64, kinds []error, plan func(b *faulty.Backend)) *tally {
	b := faulty.New(host.New(host.Options{Name: "far", Discrete: 1}))
	d, err := hal.OpenWith(context.Background(), b, 1)
	require.NoError(t, err)
	r := &run{tally: &tally{Name: "test", Errors: map[string]uint64{}}, seed: seed, ctx: context.Background(), kinds: kinds,
		rng: rand.New(rand.NewPCG(seed, 1))}
	plan(b)
	r.guard(func() { accesses(r, []*hal.Device{d}) })
	r.finish()
	r.explain(d.Close())
	return r.tally
}

// A copy that is not made is a wrong byte for most seeds: a few write or read nothing of it.
func TestWrongBytesAreFound(t *testing.T) {
	found := 0
	for seed := uint64(1); seed <= 40; seed++ {
		if tally := faultyRun(t, seed, nil, func(b *faulty.Backend) { b.Lie(3) }); tally.WrongBytes > 0 {
			found++
			assert.True(t, tally.bad())
		}
	}
	assert.Greater(t, found, 20)
	for seed := uint64(1); seed <= 40; seed++ {
		assert.False(t, faultyRun(t, seed, nil, func(*faulty.Backend) {}).bad())
	}
}

func TestErrorsThatNothingExplainsAreFound(t *testing.T) {
	found := false
	for n := range int64(40) { // some failures are made up for, and nobody hears of them
		plan := func(b *faulty.Backend) { b.Fail(n, hal.ErrDriver) }
		found = found || faultyRun(t, 1, []error{hal.ErrClosed}, plan).Unexplained > 0
		assert.Zero(t, faultyRun(t, 1, faults, plan).Unexplained)
	}
	assert.True(t, found)
}

// What hangs is left behind: it is counted once, with the place where it stands, and what the scenario reports after that is not.
func TestHangsAreReported(t *testing.T) {
	r := &run{tally: &tally{Name: "test", Errors: map[string]uint64{}}, ctx: context.Background()}
	never := make(chan struct{})
	defer close(never)
	stands := func() { <-never }
	r.guard(func() {
		assert.True(t, r.ends(time.Hour, "a function that exits", runtime.Goexit))
		assert.False(t, r.ends(0, "a function", stands))
		r.fail("something else")
		r.within(0, "another", stands)
		t.Error("it went on")
	})
	r.fail("a consequence")
	r.wrong(4, "a consequence")
	assert.Equal(t, uint64(2), r.Hangs)
	assert.Zero(t, r.WrongBytes)
	require.Len(t, r.Failures, 3)
	assert.Contains(t, r.Failures[0], "a function did not end within 0s\n")
	assert.Contains(t, r.Failures[0], "(*run).ends")
	assert.True(t, r.bad())
	s := summary{Scenarios: []*tally{r.tally}}
	assert.Contains(t, s.text(), "(*run).ends")
	assert.Less(t, len(line(r.Failures[0]+strings.Repeat("x", 1000))), 600, "a document has the beginning of the stacks")
}

func TestMergeAddsUp(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, text := range []string{
		`{"first_seed": 1, "seeds": 10, "seconds": 60, "scenarios": [{"name": "a", "what": "does this", "actions": 5, "errors": {"busy": 1}}]}`,
		`{"first_seed": 100, "seeds": 2, "seconds": 30, "scenarios": [{"name": "a", "what": "does this", "actions": 7, "leaks": 1, "errors": {"busy": 2, "closed": 1}}]}`,
	} {
		files = append(files, filepath.Join(dir, string(rune('a'+i))))
		require.NoError(t, os.WriteFile(files[i], []byte(text), 0o644))
	}
	document := filepath.Join(dir, "c")
	options{document: document}.merge(files)
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	assert.Contains(t, string(text), "1m30s of 2 processes side by side")
	assert.Contains(t, string(text), "Seeds: 1 to 10, 100 to 101.")
	assert.Contains(t, string(text), "**12 actions, 0 faults made on purpose, 0 wrong bytes, 1 leaks, ")
	assert.Contains(t, string(text), "busy (3), closed (1)")
	other := filepath.Join(dir, "d")
	require.NoError(t, os.WriteFile(other, []byte(`{"halyard": "other", "seeds": 2, "scenarios": [{"name": "a"}]}`), 0o644))
	merged := func(files ...string) error { return frame.Do(func() { options{}.merge(files) }) }
	assert.ErrorContains(t, merged(files[0], other), `Halyard at "other"`)
	assert.Error(t, merged())
	assert.Error(t, merged(document))
}

func TestSummaryNamesFailures(t *testing.T) {
	s := summary{Date: "2026-01-01", Machine: "a machine", Halyard: "a commit", FirstSeed: 7, Seeds: 2, Scenarios: []*tally{{Name: "a", What: "does this", Runs: 1, Actions: 3}, {Name: "c", Runs: 2}, {Name: "b", What: "does that",
		Faults: 1, Leaks: 2, Hangs: 1, Errors: map[string]uint64{"busy": 4}, Failures: []string{"seed 8: two\nlines"}}}}
	assert.Contains(t, s.text(), "FAILED  b: seed 8: two\nlines\n")
	assert.NotContains(t, s.text(), "FAILED  a")
	assert.Contains(t, s.text(), "SKIPPED  c: what it needs is missing")
	assert.NotContains(t, s.text(), "SKIPPED  a")
	text := s.markdown()
	assert.Contains(t, text, "- When and where: 2026-01-01, a machine, Halyard at a commit.\n")
	assert.Contains(t, text, "**3 actions, 1 faults made on purpose, 0 wrong bytes, 2 leaks, ")
	assert.Contains(t, text, "busy (4)")
	assert.Equal(t, 1, strings.Count(text, "Not run: "))
	assert.Contains(t, text, "failed: seed 8: two lines")
	assert.Contains(t, text, "Seeds: 7 to 8.")
	assert.True(t, slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return strings.HasPrefix(l, "| b | 0 | 0 | 1 | 0 | 2 | 0 | 0 | 1 |") }))
}
