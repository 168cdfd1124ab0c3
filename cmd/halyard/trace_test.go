package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/trace"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/emulator"
	"github.com/go-halyard/halyard/internal/testing/tracecheck"
	"github.com/go-halyard/halyard/internal/tracefile"
)

// readTrace reads a file that must keep the rules of its format.
func readTrace(t *testing.T, name string) *tracefile.Trace {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, tracecheck.Check(bytes.NewReader(data)))
	r, err := tracefile.Read(bytes.NewReader(data))
	require.NoError(t, err)
	return r
}

func TestTraceShowsWhatEachDemonstrationCopies(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "3")
	for _, c := range []struct {
		demo             string
		devices          string
		copied, avoided  uint64
		copies, evicted  int
		says             []string
		between, forRoom uint64
	}{
		{"pingpong", "host:1", 8 * mebi, 7 * mebi, 8, 0, []string{"\n  on host:1", "0 evictions"}, 0, 0},
		{"sweep", "host:1", 18 * mebi, 3 * mebi, 18, 9, []string{"Acquire, to make room       3  3 MiB", "9 evictions"}, 0, 3 * mebi},
		// Two parts to their devices and back, and in each of three rounds an edge each way.
		{"ranges", "host:1,host:2", 4*mebi + 6*65536, 0, 10, 0, []string{"host:1 (simulated) → host:2 (simulated)"}, 6 * 65536, 0},
		{"ranges", "host:1,host:2,host:3", 0, 0, 0, 0, nil, 12 * 65536, 0},
		{"ranges", "host:1", 0, 0, 0, 0, nil, 0, 0},
		{"double", "host:1", 16 * mebi, 0, 16, 0, []string{"copied 16 MiB in 16 transfers, avoided 0 B, 0 evictions"}, 0, 0},
	} {
		t.Run(c.demo+" "+c.devices, func(t *testing.T) {
			dir := t.TempDir()
			out, svg := filepath.Join(dir, "t.json"), filepath.Join(dir, "t.svg")
			stdout, stderr, status := halyard(t, "trace", c.demo, "--device", c.devices, "--out", out, "--svg", svg)
			require.Equal(t, exitPassed, status, stderr)
			assert.Empty(t, stderr)
			for _, s := range c.says {
				assert.Contains(t, strings.ReplaceAll(stdout, "\non", "\n  on"), s)
			}
			assert.Contains(t, stdout, "trace written to "+out)
			assert.Contains(t, stdout, "picture written to "+svg)
			// Every device is named as simulated, wherever it is named for the first time and in the sums.
			for _, d := range strings.Split(c.devices, ",") {
				assert.Regexp(t, `(?m)^(on|  ) .*`+d+` \(.*simulated`, stdout)
			}
			assert.Contains(t, stdout, "simulated: "+strings.ReplaceAll(c.devices, ",", ", ")+"\n")

			var copied, avoided, between, forRoom uint64
			var copies, evicted int
			for _, s := range readTrace(t, out).Spans {
				switch n := s.Hi - s.Lo; s.Kind {
				case buffer.ActivityCopy:
					copies++
					copied += n
					if s.From != "host" && s.To != "host" {
						between += n
					}
					if s.For != 0 {
						forRoom += n
					}
				case buffer.ActivityAvoided:
					avoided += n
				case buffer.ActivityEvict:
					evicted++
					assert.Equal(t, "budget", s.Why)
				}
			}
			assert.Equal(t, c.between, between)
			assert.Equal(t, c.forRoom, forRoom)
			if c.copies > 0 {
				assert.Equal(t, c.copied, copied)
				assert.Equal(t, c.copies, copies)
				assert.Equal(t, c.evicted, evicted)
			}
			if c.avoided > 0 {
				assert.Equal(t, c.avoided, avoided)
			}
			assert.Contains(t, stdout, "copied "+bytesText(copied)+" in "+plural(copies, "transfer"))

			picture, err := os.ReadFile(svg)
			require.NoError(t, err)
			assert.Contains(t, string(picture), "halyard trace "+c.demo)
			assert.Contains(t, string(picture), "host:1 (simulated)")
		})
	}
}

func TestTraceOnTheHostItselfSaysThatNothingIsCopied(t *testing.T) {
	for _, d := range demos {
		stdout, stderr, status := halyard(t, "trace", d.name, "--device", "host:0")
		require.Equal(t, exitPassed, status, stderr)
		assert.Contains(t, stdout, "nothing needs to be copied")
		assert.Contains(t, stdout, "copied 0 B in 0 transfers")
		assert.NotRegexp(t, `(?m)^simulated:`, stdout)
	}
}

func TestTracePrefersDevicesWithMemoryOfTheirOwn(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	t.Setenv("HALYARD_DEVICES", "host:0,host:2")
	stdout, stderr, status := halyard(t, "trace", "double")
	require.Equal(t, exitPassed, status, stderr)
	assert.Contains(t, stdout, "on host:2 (")
	assert.NotContains(t, stdout, "host:0")
}

// A demonstration checks its results: on a device that loses bytes it fails.
func TestTraceNoticesWrongBytes(t *testing.T) {
	for _, device := range []string{"lossy:1", "broken:0"} {
		_, stderr, status := halyard(t, "trace", "pingpong", "--device", device)
		assert.Equal(t, exitFailed, status, device)
		assert.Regexp(t, `^halyard: pingpong: element \d+ is \d+ instead of \d+\n$`, stderr)
	}
}

func TestTraceWrongUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "name one demonstration, of pingpong, sweep, ranges, double, or a program after --"},
		{[]string{"sweep", "double"}, "name one demonstration"},
		{[]string{"weep"}, `unknown demonstration "weep"; there are pingpong`},
		{[]string{"--"}, "name a program after --"},
		{[]string{"sweep", "--", "true"}, "cannot be used together"},
		{[]string{"--device", "host:0", "--", "true"}, "are for demonstrations; HALYARD_DEVICES chooses"},
		{[]string{"sweep", "--out", ""}, "--out needs the name of a file"},
		{[]string{"sweep", "--svg="}, "--svg needs the name of a file"},
		{[]string{"sweep", "--top", "-1"}, "--top must not be negative"},
		{[]string{"sweep", "--device", "metal:0"}, "no such backend"},
	} {
		stdout, stderr, status := halyard(t, append([]string{"trace"}, c.args...)...)
		assert.Equal(t, exitUsage, status, "%q", c.args)
		assert.Contains(t, stderr, c.says)
		assert.Equal(t, 1, strings.Count(stderr, "\n"))
		assert.Empty(t, stdout)
	}
	for _, flag := range []string{"--out", "--svg"} {
		_, stderr, status := halyard(t, "trace", "pingpong", "--device", "host:0", flag, filepath.Join(t.TempDir(), "no", "folder"))
		assert.Equal(t, exitFailed, status)
		assert.Regexp(t, `^halyard: open .*folder: `, stderr)
	}
}

func TestTraceIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, stderr, status := halyardIn(t, ctx, "trace", "sweep", "--device", "host:0")
	assert.Equal(t, exitFailed, status)
	assert.Equal(t, "halyard: interrupted\n", stderr)
}

// programVariable makes TestTraceChild below a program of its own, which ends with that status.
const programVariable = "HALYARD_TRACE_TEST_PROGRAM"

// TestTraceChild is the program that the test after it traces. It passes when nobody runs it as such.
func TestTraceChild(t *testing.T) {
	status, err := strconv.Atoi(os.Getenv(programVariable))
	if err != nil {
		return
	}
	dev, err := hal.Open(t.Context(), "host:1")
	require.NoError(t, err)
	x, err := buffer.From(make([]byte, 5000))
	require.NoError(t, err)
	require.NoError(t, x.SyncTo(t.Context(), dev))
	fmt.Println("the program's own words")
	os.Exit(status)
}

func TestTraceRunsAProgram(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	for _, want := range []int{0, 7} {
		t.Setenv(programVariable, strconv.Itoa(want))
		dir := t.TempDir()
		out, svg := filepath.Join(dir, "t.json"), filepath.Join(dir, "t.svg")
		args := append([]string{"trace", "--out", out, "--svg", svg, "--"}, emulator.Words(self, "-test.run=^TestTraceChild$")...)
		stdout, stderr, status := halyard(t, args...)
		assert.Equal(t, want, status, stderr)
		assert.Equal(t, "the program's own words\n", stdout, "the standard output is the program's")
		assert.Regexp(t, `SyncTo +1 +4\.9 KiB`, stderr)
		assert.Regexp(t, `trace_test\.go:\d+ +1 +4\.9 KiB +host → host:1 \(simulated\) +SyncTo`, stderr)
		assert.Contains(t, stderr, "simulated: host:1\ncopied 4.9 KiB in 1 transfer, avoided 0 B, 0 evictions")
		assert.Equal(t, want != 0, strings.Contains(stderr, "exit status 7"))
		assert.NotEmpty(t, readTrace(t, out).Spans)
		assert.FileExists(t, svg)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "halyard-trace-*.json"))
	require.NoError(t, err)
	for _, name := range left {
		data, _ := os.ReadFile(name)
		assert.NotContains(t, string(data), "TestTraceChild", "the file in between is gone")
	}
}

func TestTraceOfAProgramThatWritesNone(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "t.json")
	// Cleared for the child, the variable is not obeyed: as in a program that does not import the package.
	args := append([]string{"trace", "--out", out, "--", "env", "-u", trace.EnvTrace}, emulator.Words(self, "-test.run=^$")...)
	_, stderr, status := halyard(t, args...)
	if regexp.MustCompile(`executable file not found`).MatchString(stderr) {
		t.Skip("no env command here")
	}
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stderr, "env wrote no trace: it must be a Go program that imports github.com/go-halyard/halyard, or buffer/trace of it")
	assert.NoFileExists(t, out)
}

func TestTraceOfNoProgram(t *testing.T) {
	_, stderr, status := halyard(t, "trace", "--", filepath.Join(t.TempDir(), "nothing"))
	assert.Equal(t, exitFailed, status)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}

// The picture in the guide is one that the command draws, and the guide says how.
func TestGuideShowsATimeline(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide/command.md")
	require.NoError(t, err)
	assert.Contains(t, string(page), "](../timeline.svg)")
	assert.Contains(t, string(page), "halyard trace sweep --device host:1 --svg docs/timeline.svg")
	picture, err := os.ReadFile("../../docs/timeline.svg")
	require.NoError(t, err)
	for _, says := range []string{"halyard trace sweep", "host:1 (simulated)", "copied 18 MiB, avoided 3 MiB, 9 evictions", "prefers-color-scheme:dark"} {
		assert.Contains(t, string(picture), says)
	}
}
