package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/mpi"
	"github.com/go-halyard/halyard/comm/nccl"
	"github.com/go-halyard/halyard/internal/comm/conformance"
	"github.com/go-halyard/halyard/internal/comm/driver"
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

// The libraries between GPUs are shown, and what names one if there is none.
func TestCommShowsTheLibraryBetweenGPUs(t *testing.T) {
	t.Setenv("HALYARD_MPI_LIBRARY", "/nonexistent/libmpi.so.12")
	t.Setenv(nccl.EnvLibrary, "/nonexistent/libnccl.so.2")
	var out, errs strings.Builder
	status := run(t.Context(), []string{"comm"}, &out, &errs)
	if want := "between GPUs: neither NCCL nor RCCL was found; HALYARD_NCCL_LIBRARY names a library\n"; status != exitPassed || !strings.HasSuffix(out.String(), want) {
		t.Errorf("status %d\n%s\n%s", status, out.String(), errs.String())
	}
	out.Reset()
	l := commListing{Collectives: []collectives{{"NCCL", "2.27.7", "libnccl.so.2", "/usr/lib/libnccl.so.2"}}}
	if l.print(&out); !strings.HasSuffix(out.String(), "between GPUs: NCCL 2.27.7, libnccl.so.2 (/usr/lib/libnccl.so.2)\n") {
		t.Errorf("%s", out.String())
	}
}

// A library that ends the process while it is initialised is shown like one that is missing, with what it said.
func TestCommSurvivesALibraryThatExits(t *testing.T) {
	found := 0
	for _, dir := range filepath.SplitList(os.Getenv("HALYARD_TEST_MPI")) {
		path := filepath.Join(dir, "lib", "libmpi.so.40")
		env, _ := os.ReadFile(filepath.Join(dir, "environment"))
		if _, err := os.Stat(path); err != nil || !strings.Contains(string(env), "OPAL_PREFIX=") {
			continue
		}
		found++
		for _, pair := range strings.Fields(string(env)) {
			name, value, _ := strings.Cut(pair, "=")
			t.Setenv(name, value)
		}
		t.Setenv("OPAL_PREFIX", "/nonexistent") // without its runtime
		t.Setenv("HALYARD_MPI_LIBRARY", path)
		var out, errs strings.Builder
		if status := run(t.Context(), []string{"comm"}, &out, &errs); status != exitPassed || !strings.Contains(out.String(), path) || !strings.Contains(out.String(), "MPI_Init_thread") {
			t.Errorf("status %d\n%s\n%s", status, out.String(), errs.String())
		}
	}
	if found == 0 {
		t.Skip("HALYARD_TEST_MPI names no Open MPI whose runtime can be taken away")
	}
}

// onEachMPI runs a test for each library that HALYARD_TEST_MPI names, at least one in each folder, with the command under the library's launcher.
func onEachMPI(t *testing.T, test func(t *testing.T, abi, path string, command func(ranks int, args ...string) *exec.Cmd)) {
	found := 0
	for _, dir := range filepath.SplitList(os.Getenv("HALYARD_TEST_MPI")) {
		others := found
		env, _ := os.ReadFile(filepath.Join(dir, "environment"))
		for lib, abi := range map[string]string{"libmpi.so.40": "openmpi", "libmpi.so.12": "mpich", "libmpi_abi.so.1": "standard"} {
			path := filepath.Join(dir, "lib", lib)
			if _, err := os.Stat(path); err != nil || abi == "standard" && strings.HasPrefix(filepath.Base(dir), "impi") {
				continue // Intel's has a draft of the standard, which is refused
			}
			found++
			t.Run(filepath.Base(dir)+" "+abi, func(t *testing.T) {
				test(t, abi, path, func(ranks int, args ...string) *exec.Cmd {
					cmd := exec.Command(filepath.Join(dir, "bin", "mpiexec"), append([]string{"-n", strconv.Itoa(ranks), os.Args[0]}, args...)...)
					cmd.Env = append(append(os.Environ(), strings.Fields(string(env))...), asCommand+"=1", "HALYARD_MPI_LIBRARY="+path,
						"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
					return cmd
				})
			})
		}
		if found == others {
			t.Fatalf("HALYARD_TEST_MPI names %s, whose folder lib has no library", dir)
		}
	}
	if found == 0 {
		if strings.Contains(","+os.Getenv("HALYARD_REQUIRE")+",", ",mpi,") {
			t.Fatal("HALYARD_REQUIRE asks for mpi, and HALYARD_TEST_MPI names no library")
		}
		t.Skip("HALYARD_TEST_MPI names no folder of an installed MPI")
	}
}

// The command starts each installed library, shows what it is, and ends in a way that its launcher takes for good.
func TestCommShowsTheLibrary(t *testing.T) {
	onEachMPI(t, func(t *testing.T, abi, path string, command func(int, ...string) *exec.Cmd) {
		out, err := command(2, "comm", "--json").CombinedOutput()
		var l commListing
		if err != nil || json.Unmarshal(out, &l) != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if l.ABI != abi || l.Ranks != 2 || l.Path != path || l.Launcher == "" || l.Version == "" || l.Threads != "multiple" || l.MaxTag < 32767 || l.Error != nil {
			t.Errorf("%+v", l)
		}
	})
}

// Each installed library keeps the rules of engines.
func TestCommCheckPasses(t *testing.T) {
	skipped := map[int]int{1: 17, 2: 1, 4: 1} // what takes more ranks, or ends the job
	onEachMPI(t, func(t *testing.T, _, _ string, command func(int, ...string) *exec.Cmd) {
		for ranks, skips := range skipped {
			out, err := command(ranks, "comm", "check").CombinedOutput()
			want := fmt.Sprintf("%d passed, 0 failed, %d skipped\n", len(conformance.Checks())-skips, skips)
			if err != nil || !strings.HasSuffix(string(out), want) {
				t.Errorf("%d ranks: %v; the last line is not %q\n%s", ranks, err, want, out)
			}
		}
	})
}

// asLiar makes the engine of the command break a rule.
const asLiar = "HALYARD_TEST_AS_LIAR"

// liar is an engine that says of each message that it is longer by a byte.
type liar struct{ comm.Engine }

func (l liar) Test(reqs []driver.Request, out []driver.Status) (int, error) {
	done, err := l.Engine.Test(reqs, out)
	for i := range out {
		if reqs[i] == 0 && out[i].Bytes > 0 {
			out[i].Bytes++
		}
	}
	return done, err
}

func init() {
	if os.Getenv(asLiar) != "" {
		startMPI = func() (comm.Engine, error) {
			e, err := mpi.Start()
			return liar{e}, err
		}
	}
}

// A rule that is not kept ends the job with a status that is not 0, and says what was found.
func TestCommCheckFails(t *testing.T) {
	onEachMPI(t, func(t *testing.T, _, _ string, command func(int, ...string) *exec.Cmd) {
		cmd := command(2, "comm", "check", "--run", "^Messages/(ArriveComplete|AreMatchedByTag)$|^Collectives/Bcast$")
		cmd.Env = append(cmd.Env, asLiar+"=1")
		out, err := cmd.CombinedOutput()
		var status *exec.ExitError
		if !errors.As(err, &status) || !strings.Contains(string(out), "FAIL Messages/ArriveComplete: rank ") || !strings.Contains(string(out), "2 passed, 1 failed, 0 skipped\n") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

func TestCommCheckRefusesBadFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--run ^Nothing$", "no check matches"},
		{"--run (", "--run: "},
		{"--timeout 0s", "--timeout must be positive"},
		{"--exclude Messages/ArriveComplete", "write Group/Name=reason"},
		{"--exclude Messages/Nothing=reason", "no check has that name"},
		{"argument", "takes no arguments"},
	} {
		var out, errs strings.Builder
		if status := run(t.Context(), append([]string{"comm", "check"}, strings.Fields(c.args)...), &out, &errs); status != exitUsage || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: status %d: %s", c.args, status, errs.String())
		}
	}
	var out, errs strings.Builder
	if status := run(t.Context(), []string{"comm", "check", "--list"}, &out, &errs); status != exitPassed || strings.Count(out.String(), "\n") != 2*len(conformance.Checks()) {
		t.Errorf("--list: status %d\n%s%s", status, out.String(), errs.String())
	}
}
