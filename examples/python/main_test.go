package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/testing/dlpacktest"
)

// The library is built, Python loads it, and NumPy reads and writes what a device with memory of its own has computed.
func TestNumPy(t *testing.T) {
	interpreter := dlpacktest.Python(t, 1, 23) // the first that has from_dlpack
	lib := dlpacktest.Shared(t, ".")
	cmd := exec.Command(interpreter, "-X", "faulthandler", "tensor.py", lib)
	cmd.Env = append(os.Environ(), "HALYARD_HOST_DEVICES=1", "HALYARD_DEVICES=host:1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, `[7. 7. 7. 7. 7. 7.]
lent: True
Go sees the same: True
12.0
tensor: invalid argument: there is no tensor 1
`, string(out))
}
