package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// envNCCL names NCCL's library, for package comm/nccl.
const envNCCL = "HALYARD_NCCL_LIBRARY"

// takenNCCL is the path of NCCL's library in the folder that build makes.
var takenNCCL = filepath.Join("nccl", "libnccl.so.2")

// takeNCCL copies NCCL's library into the folder, in place of that of an earlier build. If library is empty it copies what
// HALYARD_NCCL_LIBRARY names. If that is not set either, the folder has none.
func takeNCCL(dir, library string, log io.Writer) error {
	to := filepath.Join(dir, takenNCCL)
	if err := os.RemoveAll(filepath.Dir(to)); err != nil {
		return err
	}
	if library == "" {
		library = os.Getenv(envNCCL)
	}
	if library == "" {
		fmt.Fprintf(log, "going on without NCCL: neither -nccl nor %s names its library\n", envNCCL)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return copyFile(to, library)
}

// ncclOf says which NCCL the parts use, and returns the environment in which they find it. With the simulated driver it is the simulated
// NCCL. Otherwise it is the first of these: what HALYARD_NCCL_LIBRARY names, what was taken along, and what was installed for Python,
// for example with PyTorch.
func ncclOf(ctx context.Context, dir string, simulated bool) (said string, env []string) {
	use := func(path, why string) (string, []string) { return path + ", " + why, []string{envNCCL + "=" + path} }
	if simulated {
		return use(filepath.Join(dir, simulatedNCCL), "simulated")
	}
	if own := os.Getenv(envNCCL); own != "" {
		return own + ", which " + envNCCL + " names", nil
	}
	taken := filepath.Join(dir, takenNCCL)
	if _, err := os.Stat(taken); err == nil {
		return use(taken, "taken along")
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, python(), "-c", "import os, nvidia.nccl as n; print('nccl=' + os.path.join(list(n.__path__)[0], 'lib', 'libnccl.so.2'))")
	cmd.WaitDelay = grace
	if out, err := cmd.Output(); err == nil {
		for line := range strings.Lines(string(out)) {
			path, ok := strings.CutPrefix(strings.TrimSpace(line), "nccl=")
			if _, err := os.Stat(path); ok && err == nil {
				return use(path, "installed for Python")
			}
		}
	}
	return "none was taken along; tests with several ranks need one that is installed on the machine", nil
}

// python is the name of the Python that the parts use.
func python() string {
	if own := os.Getenv("HALYARD_PYTHON"); own != "" {
		return own
	}
	return "python3"
}
