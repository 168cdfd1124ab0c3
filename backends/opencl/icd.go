//go:build opencl

package opencl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/dl"
)

// On Linux and the BSDs the OpenCL library is a loader: each driver is registered by a file that
// holds the name of the driver's library. The loader silently skips a driver that does not load.

// driverRegistry returns the folder of those files. The environment may name another folder, a
// single file, or a driver's library instead.
func driverRegistry() string {
	for _, env := range []string{"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"} {
		if v := os.Getenv(env); v != "" {
			return v
		}
	}
	return "/etc/OpenCL/vendors"
}

// driverProblems returns what is wrong with the registered drivers, one sentence each. It loads the
// drivers itself, so it must be called after the OpenCL library has loaded them.
func driverProblems() []string {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return nil
	}
	where := driverRegistry()
	var files []string
	switch info, err := os.Stat(where); {
	case err != nil:
		return []string{fmt.Sprintf("no driver is registered: %v", err)}
	case !info.IsDir():
		files = []string{where}
	default:
		files, _ = filepath.Glob(filepath.Join(where, "*.icd"))
		slices.Sort(files)
		if len(files) == 0 {
			return []string{fmt.Sprintf("no driver is registered: %s holds no .icd file", where)}
		}
	}
	var problems []string
	for _, file := range files {
		if why := driverProblem(file); why != "" {
			problems = append(problems, why)
		}
	}
	return problems
}

// driverProblem returns why the driver of one file does not load, or "".
func driverProblem(file string) string {
	name := file
	if strings.HasSuffix(file, ".icd") {
		text, err := os.ReadFile(file)
		if err != nil {
			return err.Error()
		}
		first, _, _ := strings.Cut(string(text), "\n")
		if name = strings.TrimSpace(first); name == "" {
			return file + " names no library"
		}
	}
	_, err := dl.Open("", name)
	var load *dl.LoadError
	if errors.As(err, &load) && len(load.Tried) > 0 {
		return fmt.Sprintf("%s names %s, which does not load: %s", file, name,
			strings.TrimPrefix(load.Tried[0].Reason, name+": "))
	}
	return ""
}
