package trace_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/trace"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	halyard "github.com/go-halyard/halyard/buffer/trace"
	"github.com/go-halyard/halyard/internal/testing/emulator"
	"github.com/go-halyard/halyard/internal/testing/tracecheck"
	"github.com/go-halyard/halyard/internal/tracefile"
)

// childVariable makes the test binary a program that works with buffers and exits: "exit" in the middle of things,
// "close" after it has closed its trace, "kill" by a signal.
const childVariable = "HALYARD_TRACE_TEST_CHILD"

func childMain(how string) {
	work(&testing.T{})
	switch how {
	case "close":
		for range 2 { // the second time does nothing
			if halyard.CloseEnvironment() != nil {
				os.Exit(4)
			}
		}
	case "kill":
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
	os.Exit(3)
}

func child(t *testing.T, how string, env ...string) (stderr string, status int) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := emulator.Command(t.Context(), self, "-test.run=^$")
	cmd.Env = append(append(os.Environ(), childVariable+"="+how), env...)
	var out bytes.Buffer
	cmd.Stderr = &out
	err = cmd.Run()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	return out.String(), exit.ExitCode()
}

const lease = "use at demo:1 on stream 1: TryAcquire"

func TestEnvironmentTracesAnyProgram(t *testing.T) {
	for _, how := range []string{"exit", "close", "kill"} {
		name := filepath.Join(t.TempDir(), how+".json")
		stderr, status := child(t, how, halyard.EnvTrace+"="+name)
		assert.Empty(t, stderr)
		if how == "kill" {
			assert.NotEqual(t, 3, status)
		} else {
			assert.Equal(t, 3, status)
		}
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, tracecheck.Check(bytes.NewReader(data)))
		r, err := tracefile.Read(bytes.NewReader(data))
		require.NoError(t, err)
		lines := told(t, r.Spans)
		if how != "close" { // whether the end of the one lease was seen hangs on timing
			lines = slices.DeleteFunc(lines, func(l string) bool { return l == lease })
			lines = slices.Insert(lines, slices.Index(did, lease), lease)
		}
		assert.Equal(t, did, lines)
	}
}

func TestEnvironmentThatCannotBeObeyed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "no", "folder.json")
	stderr, status := child(t, "exit", halyard.EnvTrace+"="+name)
	assert.Equal(t, 3, status, "the program runs all the same")
	assert.Regexp(t, `^halyard: no trace is written, HALYARD_TRACE=.*folder\.json: open .*\n$`, stderr)
}

func TestEnvironmentLogs(t *testing.T) {
	stderr, _ := child(t, "exit", "HALYARD_DEBUG=sites,log")
	assert.Contains(t, stderr, `level=DEBUG msg="halyard: copy"`)
	assert.Contains(t, stderr, "simulated=true")
	assert.NotContains(t, stderr, "avoided", "accesses are below level debug")
	stderr, _ = child(t, "exit", "HALYARD_DEBUG=sites,nolog")
	assert.Empty(t, stderr)
}

// The execution tracer of the Go runtime sees copies and waits, by its own tool's account.
func TestExecutionTracer(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to read the trace with")
	}
	if trace.IsEnabled() {
		t.Skip("the tests are being traced")
	}
	name := filepath.Join(t.TempDir(), "trace.out")
	f, err := os.Create(name)
	require.NoError(t, err)
	require.NoError(t, trace.Start(f))
	before := goleak.IgnoreCurrent()
	work(t)
	require.NoError(t, goleak.Find(before), "the callbacks that end the tasks are done")
	trace.Stop()
	require.NoError(t, f.Close())
	out, err := exec.Command(goTool, "tool", "trace", "-d=parsed", name).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		require.NoError(t, err, "%s", exit.Stderr)
	}
	require.NoError(t, err)
	count := func(event, name string) (n int) {
		for _, l := range strings.Split(string(out), "\n") {
			if strings.Contains(l, " "+event+" ") && strings.Contains(l, `="`+name+`"`) {
				n++
			}
		}
		return n
	}
	assert.Equal(t, 3, count("TaskBegin", "halyard: copy"))
	assert.Equal(t, 3, count("TaskEnd", "halyard: copy"))
	assert.Equal(t, 3, count("RegionBegin", "halyard: copy"))
	assert.Equal(t, 3, count("RegionEnd", "halyard: copy"))
	assert.Positive(t, count("RegionBegin", "halyard: wait"))
	assert.Equal(t, count("RegionBegin", "halyard: wait"), count("RegionEnd", "halyard: wait"))
	assert.Regexp(t, `Log .*buffer \d+ \[0, 4000\) host to demo:1 because of SyncTo for Read`, string(out))
	assert.Regexp(t, `Log .*buffer \d+ \[0, 4000\) demo:1 to host because of Prefetch for Evict`, string(out))
}
