package dlpacktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNumPy builds the Go library of folder shared, has Python load it, and has the script exchange tensors
// between it and NumPy, in both directions.
func TestNumPy(t *testing.T) {
	interpreter := Python(t, 2, 1) // which speaks DLPack 1.0
	lib := Shared(t, "./shared")

	script := filepath.Join("testdata", "driver.py")
	out, err := exec.Command(interpreter, "-X", "faulthandler", script, lib).CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	_, list, _ := strings.Cut(string(text), "\nfor test in (")
	list, _, _ = strings.Cut(list, "):")
	want := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	require.NotEmpty(t, want)
	require.Equal(t, want, strings.Fields(string(out)), "the checks that have passed")
}
