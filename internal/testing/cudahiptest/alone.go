package cudahiptest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Alone runs the calling test in a process of its own, and fails the test if that process fails or
// prints anything. In the new process Alone returns true, and the test goes on. A test needs this
// if this process may have loaded a simulated library of the same name.
func Alone(t *testing.T) bool {
	t.Helper()
	const child = "HALYARD_TEST_ALONE"
	if os.Getenv(child) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	if text := strings.TrimSpace(string(out)); err != nil || text != "" && text != "PASS" {
		t.Errorf("the process ended with %v and printed\n%s", err, out)
	}
	return false
}
