package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
)

// namesIn are the checks of a group, in order.
func namesIn(group string) []string {
	var names []string
	for _, c := range conformance.Checks() {
		if strings.HasPrefix(c.Name, group+"/") {
			names = append(names, c.Name)
		}
	}
	return names
}

// sums reads the last line of a report.
func sums(t *testing.T, stdout string) (passed, failed, skipped int) {
	t.Helper()
	line := lastLine(stdout)
	n, err := fmt.Sscanf(line, "%d passed, %d failed, %d skipped", &passed, &failed, &skipped)
	require.NoError(t, err, "the last line is %q", line)
	require.Equal(t, 3, n)
	require.Equal(t, fmt.Sprintf("%d passed, %d failed, %d skipped", passed, failed, skipped), line)
	return passed, failed, skipped
}

func TestCheckPassesOnTheHost(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	stdout, stderr, status := halyard(t, "check", "--backend", "host", "--run", "^Fill/", "--short", "--seed", "7")
	require.Equal(t, exitPassed, status, "%s%s", stdout, stderr)
	assert.Empty(t, stderr, "no progress where nobody looks")
	passed, failed, skipped := sums(t, stdout)
	assert.Equal(t, 3*len(namesIn("Fill")), passed+skipped)
	assert.Positive(t, passed)
	assert.Zero(t, failed)
	assert.Contains(t, row(t, stdout, "host:1"), "cpu, discrete, simulated")
	assert.Equal(t, "7", row(t, stdout, "host:1")[len(row(t, stdout, "host:1"))-1], "the seed")
}

func TestCheckFailsOnABrokenBackend(t *testing.T) {
	stdout, stderr, status := halyard(t, "check", "--backend", "broken", "--run", "^Fill/", "--short")
	assert.Equal(t, exitFailed, status)
	assert.Empty(t, stderr)
	_, failed, _ := sums(t, stdout)
	require.Positive(t, failed)
	assert.Equal(t, failed, strings.Count(stdout, "\nFAILED  Fill/"))
	assert.Contains(t, stdout, "on broken:0 (")
	assert.Contains(t, stdout, "simulated)")
	assert.Contains(t, stdout, "\n  rule: ")
	assert.Contains(t, stdout, "\n  found: ")

	again := regexp.MustCompile(`again: halyard (check .*)`).FindStringSubmatch(stdout)
	require.NotNil(t, again, "no command line to repeat a failure in:\n%s", stdout)
	assert.Contains(t, again[1], " --short")
	stdout, _, status = halyard(t, strings.Fields(strings.ReplaceAll(again[1], "'", ""))...)
	assert.Equal(t, exitFailed, status)
	passed, failed, _ := sums(t, stdout)
	assert.Equal(t, []int{0, 1}, []int{passed, failed}, "the command line repeats that failure alone")
}

func TestCheckJSON(t *testing.T) {
	stdout, stderr, status := halyard(t, "check", "--backend", "broken", "--run", "^(Fill|Copy)/", "--short", "--json")
	assert.Equal(t, exitFailed, status)
	assert.Empty(t, stderr)
	got := decode[suiteRun](t, stdout)
	require.Len(t, got.Devices, 1)
	d := got.Devices[0]
	assert.Equal(t, "broken:0", d.Device.Device)
	assert.True(t, d.Device.Simulated)
	assert.Len(t, d.Results, len(namesIn("Fill"))+len(namesIn("Copy")))
	assert.Equal(t, got.Summary, d.Summary)
	count := map[string]int{}
	for _, r := range d.Results {
		count[r.Outcome]++
		assert.NotEmpty(t, r.Rule)
		if r.Outcome != "passed" {
			assert.NotEmpty(t, r.Reason, "%s %s without a reason", r.Check, r.Outcome)
		}
	}
	assert.Positive(t, count["failed"])
	assert.Equal(t, counts{Passed: count["passed"], Failed: count["failed"], Skipped: count["skipped"]}, d.Summary)
}

func TestCheckExcludesWithAReason(t *testing.T) {
	stdout, _, status := halyard(t, "check", "--backend", "broken", "--run", "^Fill/", "--short", "--exclude", "Fill/*=fills are broken here = known")
	require.Equal(t, exitPassed, status, "%s", stdout)
	passed, failed, skipped := sums(t, stdout)
	assert.Equal(t, []int{0, 0, len(namesIn("Fill"))}, []int{passed, failed, skipped})
	assert.Contains(t, stdout, fmt.Sprintf("EXCLUDED: NOT SUPPORTED HERE (%d)\n", skipped))
	assert.Contains(t, stdout, "fills are broken here = known")
}

func TestCheckGroupsSkipsByReason(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "")
	var need []string
	for _, c := range conformance.Checks() {
		if c.NeedsPeer {
			need = append(need, c.Name)
		}
	}
	require.NotEmpty(t, need)
	pattern := "^(" + strings.Join(need, "|") + ")$"
	stdout, _, status := halyard(t, "check", "--backend", "host", "--run", pattern)
	require.Equal(t, exitPassed, status, "%s", stdout)
	passed, failed, skipped := sums(t, stdout)
	assert.Equal(t, []int{0, 0, len(need)}, []int{passed, failed, skipped}, "no peer is there")
	assert.Contains(t, stdout, fmt.Sprintf("SKIPPED (%d)\n", len(need)))
	assert.Equal(t, 1, strings.Count(stdout, "no other device of the backend"), "one line for one reason:\n%s", stdout)

	t.Setenv("HALYARD_HOST_DEVICES", "1")
	stdout, _, status = halyard(t, "check", "--backend", "host", "--run", pattern, "--short")
	require.Equal(t, exitPassed, status, "%s", stdout)
	assert.NotContains(t, stdout, "no other device of the backend", "with a second device they run")
}

func TestCheckRequires(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	one := namesIn("Fill")[0]
	for _, c := range []struct{ require, says string }{
		{"host", ""},
		{"host:1", ""},
		{"host,odd", "--require odd: backend unavailable: tried libodd.so.2"},
		{"host:7", "--require host:7: no such device; host has 2 devices"},
		{"broken", "--require broken: present, but not among the devices selected"},
	} {
		stdout, stderr, status := halyard(t, "check", "--backend", "host", "--run", "^"+one+"$", "--short", "--require", c.require)
		assert.Empty(t, stderr)
		passed, _, _ := sums(t, stdout)
		assert.Equal(t, 2, passed)
		if c.says == "" {
			assert.Equal(t, exitPassed, status, "--require %s: %s", c.require, stdout)
			assert.NotContains(t, stdout, "MISSING")
			continue
		}
		assert.Equal(t, exitFailed, status, "--require %s", c.require)
		assert.Contains(t, strings.ReplaceAll(stdout, "\n  ", " "), "MISSING\n"+c.says)
	}
}

// Without a selection every backend is accounted for: an absent driver is told, an error is a failure.
func TestCheckAccountsForEveryBackend(t *testing.T) {
	one := namesIn("Fill")[0]
	t.Setenv("HALYARD_HOST_DEVICES", "")
	t.Setenv(hal.EnvDevices, "host")
	stdout, _, status := halyard(t, "check", "--run", "^"+one+"$", "--short")
	assert.NotContains(t, stdout, "shy", "it was not selected")
	assert.Equal(t, exitFailed, status, "the backend faulty failed to enumerate")
	assert.Contains(t, stdout, "\nodd: backend unavailable: tried libodd.so.2")
	assert.Contains(t, stdout, "\nidle: the driver works, but finds no device")
	assert.Contains(t, stdout, "MISSING\nfaulty: driver error: enumeration fell over")
}

// A device that does not open is one line, not a failure of every check, and nothing at all if it was named.
func TestCheckPassesOverWhatDoesNotOpen(t *testing.T) {
	one := namesIn("Fill")[0]
	stdout, _, status := halyard(t, "check", "--backend", "host,shy", "--run", "^"+one+"$", "--short")
	assert.Equal(t, exitPassed, status, "%s", stdout)
	assert.Contains(t, stdout, "NOT CHECKED\nshy:0: open: not supported: not in this light\n")
	assert.Equal(t, "1 passed, 0 failed, 0 skipped", lastLine(stdout))

	stdout, _, status = halyard(t, "check", "--device", "host:0,shy:0", "--run", "^"+one+"$", "--short")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stdout, "MISSING\nshy:0: open: not supported")

	stdout, _, status = halyard(t, "check", "--backend", "shy", "--run", "^"+one+"$")
	assert.Equal(t, exitFailed, status, "nothing was checked")
	assert.Contains(t, stdout, "there is no device to check")

	// Nor does it stand in the way as the device of another backend.
	t.Setenv(hal.EnvDevices, "host,shy")
	other := slices.IndexFunc(conformance.Checks(), func(c conformance.Check) bool { return c.NeedsOther })
	stdout, _, status = halyard(t, "check", "--backend", "host", "--run", "^"+conformance.Checks()[other].Name+"$", "--short")
	assert.Equal(t, exitPassed, status, "%s", stdout)
	assert.Contains(t, stdout, "no device of another backend")
	t.Setenv(hal.EnvDevices, "")

	path, _ := tempFile(t, 10)
	_, stderr, status := halyard(t, "check", "--device", "host:0,shy:0", "--file", path)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stderr, "not in this light")
}

func TestCheckListShowsTheRules(t *testing.T) {
	stdout, _, status := halyard(t, "check", "--list")
	assert.Equal(t, exitPassed, status)
	for _, c := range conformance.Checks() {
		assert.Contains(t, stdout, "\n"+c.Name+" ")
	}
	assert.Equal(t, fmt.Sprintf("%d checks", len(conformance.Checks())), lastLine(stdout))

	stdout, _, status = halyard(t, "check", "--list", "--json", "--run", "^Copy/")
	assert.Equal(t, exitPassed, status)
	var names []string
	for _, c := range decode[[]listedCheck](t, stdout) {
		names = append(names, c.Check)
		assert.NotEmpty(t, c.Rule)
	}
	assert.Equal(t, namesIn("Copy"), names)
}

func TestCheckVerboseListsEachOutcome(t *testing.T) {
	stdout, _, status := halyard(t, "check", "--device", "host:0", "--run", "^Fill/", "--short", "--verbose")
	assert.Equal(t, exitPassed, status)
	for _, name := range namesIn("Fill") {
		assert.Regexp(t, `(?m)^host:0 +`+regexp.QuoteMeta(name)+` +(passed|skipped)`, stdout)
	}
}

func TestPeerPrefersMemoryOfItsOwn(t *testing.T) {
	host := func(n int) hal.Info { return hal.Info{Backend: "host", Ordinal: n, SharesHostMemory: n == 0} }
	around := []hal.Info{{Backend: "cuda"}, host(0), host(1), host(2)}
	assert.Equal(t, "host:1", peerOf(host(0), around))
	assert.Equal(t, "host:2", peerOf(host(1), around))
	assert.Equal(t, "host:1", peerOf(host(2), around))
	assert.Equal(t, "", peerOf(around[0], around))
	assert.Equal(t, "host:0", peerOf(host(1), around[:3]))
}

func TestExpandNamesEachCheckOnce(t *testing.T) {
	all := conformance.Checks()
	first := all[0].Name
	group, _, _ := strings.Cut(first, "/")
	size := 0
	for _, c := range all {
		if strings.HasPrefix(c.Name, group+"/") {
			size++
		}
	}
	named, unmatched := expand([]conformance.Exclusion{
		{Check: first, Kind: conformance.ExpectedFailure, Reason: "the first"},
		{Check: group + "/*", Kind: conformance.Unsupported, Reason: "the others"},
		{Check: "No/*", Kind: conformance.Unsupported, Reason: "none"},
		{Check: "[", Kind: conformance.Unsupported, Reason: "no pattern"},
	})
	assert.Equal(t, []string{"No/*", "["}, unmatched)
	if assert.Len(t, named, size) {
		assert.Equal(t, conformance.Exclusion{Check: first, Kind: conformance.ExpectedFailure, Reason: "the first"}, named[0])
		for _, x := range named[1:] {
			assert.Equal(t, "the others", x.Reason)
		}
	}
}
