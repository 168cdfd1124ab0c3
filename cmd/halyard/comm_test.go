package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// asCommand makes the test binary the command: tests of what happens when a process ends start it.
const asCommand = "HALYARD_TEST_AS_COMMAND"

func TestCommWithoutALibrarySaysWhatWasTried(t *testing.T) {
	t.Setenv("HALYARD_MPI_LIBRARY", "/nonexistent/libmpi.so.12")
	want := "/nonexistent/libmpi.so.12"
	if runtime.GOOS == "windows" {
		want = "MPI is not supported on windows"
	}
	for _, args := range [][]string{{"comm"}, {"comm", "--json"}} {
		var out, errs strings.Builder
		if status := run(t.Context(), args, &out, &errs); status != exitPassed || !strings.Contains(out.String(), want) || errs.Len() > 0 {
			t.Errorf("%v: status %d\n%s\n%s", args, status, out.String(), errs.String())
		}
	}
}

// The command starts each installed library, shows what it is, and ends in a way that its launcher takes for good.
func TestCommShowsTheLibrary(t *testing.T) {
	dirs := filepath.SplitList(os.Getenv("HALYARD_TEST_MPI"))
	found := 0
	for _, dir := range dirs {
		for lib, abi := range map[string]string{"libmpi.so.40": "openmpi", "libmpi.so.12": "mpich", "libmpi_abi.so.1": "standard"} {
			path := filepath.Join(dir, "lib", lib)
			if _, err := os.Stat(path); err != nil {
				continue
			}
			found++
			t.Run(abi, func(t *testing.T) {
				cmd := exec.Command(filepath.Join(dir, "bin", "mpiexec"), "-n", "2", os.Args[0], "comm", "--json")
				cmd.Env = append(os.Environ(), asCommand+"=1", "HALYARD_MPI_LIBRARY="+path,
					"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
				out, err := cmd.CombinedOutput()
				var l commListing
				if err != nil || json.Unmarshal(out, &l) != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if l.ABI != abi || l.Ranks != 2 || l.Path != path || l.Launcher == "" || l.Version == "" || l.Threads != "multiple" || l.MaxTag < 32767 ||
					!slices.Equal(l.Memory, []string{"host"}) || l.Error != nil {
					t.Errorf("%+v", l)
				}
			})
		}
	}
	if found == 0 {
		if strings.Contains(","+os.Getenv("HALYARD_REQUIRE")+",", ",mpi,") {
			t.Fatal("HALYARD_REQUIRE asks for mpi, and HALYARD_TEST_MPI names no library")
		}
		t.Skip("HALYARD_TEST_MPI names no folder of an installed MPI")
	}
}
