//go:build linux

package mpi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// The test binary starts itself under mpiexec: with this variable it is one rank of a job, which runs the named scenarios.
const envScenarios = "HALYARD_TEST_MPI_SCENARIOS"

// envInstalled lists folders of installed MPIs, each with bin/mpiexec and its libraries in lib, separated by colons. A folder may have a file
// "environment" with the variables that the library needs.
const envInstalled = "HALYARD_TEST_MPI"

func TestMain(m *testing.M) {
	if names := os.Getenv(envScenarios); names != "" {
		Run(func(ctx context.Context, e driver.Engine) error {
			return runScenarios(ctx, e.(*engine), strings.Split(names, ","))
		})
	}
	os.Exit(m.Run())
}

func runScenarios(ctx context.Context, e *engine, names []string) error {
	for _, name := range names {
		run, ok := scenarios[name]
		if !ok {
			run, ok = endings[name]
		}
		if !ok {
			run, ok = large[name]
		}
		if !ok {
			return fmt.Errorf("there is no scenario %s", name)
		}
		r := &rank{ctx: ctx, e: e, w: e.World()}
		if err := run(r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		// In one write: the lines of ranks are not mixed then.
		_, _ = os.Stdout.WriteString(doneLine(name, r.w.Rank(), r.w.Size()) + "\n")
	}
	return nil
}

func doneLine(name string, rank, size int) string {
	return fmt.Sprintf("done %s %d/%d", name, rank, size)
}

// installation is a library and the launcher that it belongs to.
type installation struct {
	name, mpiexec, library, header string
	abi                            abiKind
	env                            []string
}

func required() bool {
	return slices.Contains(strings.FieldsFunc(os.Getenv("HALYARD_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' }), "mpi")
}

// installed finds the libraries that HALYARD_TEST_MPI names, at least one in each folder. Without one the test is skipped, or fails if
// HALYARD_REQUIRE has "mpi"; then all three ABIs have to be there.
func installed(t testing.TB) []installation {
	t.Helper()
	var found []installation
	for _, dir := range filepath.SplitList(os.Getenv(envInstalled)) {
		others := len(found)
		for _, c := range []installation{
			{library: "libmpi.so.40", header: "mpi.h", abi: abiOpenMPI},
			{library: "libmpi.so.12", header: "mpi.h", abi: abiMPICH},
			{library: "libmpi_abi.so.1", header: "mpi_abi.h", abi: abiStandard},
		} {
			if c.abi == abiStandard && strings.HasPrefix(filepath.Base(dir), "impi") {
				continue // a draft of the standard, which is refused
			}
			c.library = filepath.Join(dir, "lib", c.library)
			if _, err := os.Stat(c.library); err == nil {
				env, _ := os.ReadFile(filepath.Join(dir, "environment"))
				c.name, c.env = filepath.Base(dir)+" "+c.abi.String(), strings.Fields(string(env))
				c.mpiexec = filepath.Join(dir, "bin", "mpiexec")
				c.header = filepath.Join(dir, "include", c.header)
				found = append(found, c)
			}
		}
		if len(found) == others {
			t.Fatalf("%s names %s, whose folder lib has no library", envInstalled, dir)
		}
	}
	switch {
	case required():
		for _, abi := range []abiKind{abiOpenMPI, abiMPICH, abiStandard} {
			if !slices.ContainsFunc(found, func(i installation) bool { return i.abi == abi }) {
				t.Fatalf("HALYARD_REQUIRE asks for mpi, and %s (%q) names no library of the %s ABI", envInstalled, os.Getenv(envInstalled), abi)
			}
		}
	case len(found) == 0:
		t.Skipf("%s names no folder of an installed MPI", envInstalled)
	}
	return found
}

// onEach runs a test for each library that is installed.
func onEach(t *testing.T, test func(t *testing.T, in installation)) {
	for _, in := range installed(t) {
		t.Run(in.name, func(t *testing.T) { test(t, in) })
	}
}

// outcome is how a job ended.
type outcome struct {
	status int // of mpiexec, -1 if a signal ended it
	output string
	hung   bool
}

// job runs scenarios in n ranks. env is added to the environment.
func (in installation) job(t testing.TB, n int, names string, env ...string) outcome {
	t.Helper()
	return in.jobFor(t, time.Minute, n, names, env...)
}

// jobFor is job, which takes at most limit.
func (in installation) jobFor(t testing.TB, limit time.Duration, n int, names string, env ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	// Jobs that begin and end at the same time otherwise share a folder, which one removes while another makes its own there: Open MPI 4 then fails.
	own, err := os.MkdirTemp("", "job") // not t.TempDir: names of sockets are short
	if err != nil {
		t.Error(err)
		return outcome{status: -1}
	}
	defer os.RemoveAll(own)
	cmd := exec.CommandContext(ctx, in.mpiexec, "-n", strconv.Itoa(n), os.Args[0], "-test.run=^$")
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), EnvLibrary+"="+in.library, envScenarios+"="+names,
		"TMPDIR="+own, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
	cmd.Env = append(append(cmd.Env, in.env...), env...)
	out, err := cmd.CombinedOutput()
	o := outcome{output: string(out), hung: ctx.Err() != nil}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		o.status = exit.ExitCode()
	case err != nil && !o.hung:
		t.Errorf("%s did not start: %v", in.mpiexec, err)
		o.status = -1
	}
	return o
}

// completed counts the ranks of n that finished a scenario.
func (o outcome) completed(name string, n int) (ranks int) {
	lines := strings.Split(o.output, "\n")
	for rank := range n {
		if slices.Contains(lines, doneLine(name, rank, n)) {
			ranks++
		}
	}
	return ranks
}

// A good job does every scenario in every rank, and ends with status 0.
func TestScenarios(t *testing.T) {
	onEach(t, func(t *testing.T, in installation) {
		for _, n := range []int{1, 2, 4} {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				names := slices.Sorted(keysOf(scenarios))
				o := in.job(t, n, strings.Join(names, ","))
				for _, name := range names {
					if got := o.completed(name, n); got != n {
						t.Errorf("%s was completed by %d of %d ranks", name, got, n)
					}
				}
				if o.status != 0 || o.hung {
					t.Errorf("the job ended with status %d, hung: %v", o.status, o.hung)
				}
				if t.Failed() {
					t.Log(o.output)
				}
			})
		}
	})
}

// Real messages of more elements than a C int counts. Each of two ranks takes up to 8 GiB.
func TestCountsBeyondAnInt(t *testing.T) {
	if os.Getenv("HALYARD_TEST_MPI_LARGE") == "" {
		t.Skip("HALYARD_TEST_MPI_LARGE is not set: two ranks take 16 GiB and some minutes")
	}
	onEach(t, func(t *testing.T, in installation) {
		start := time.Now()
		o := in.jobFor(t, 10*time.Minute, 2, "beyond")
		if o.status != 0 || o.completed("beyond", 2) != 2 {
			t.Errorf("status %d, hung: %v\n%s", o.status, o.hung, o.output)
		}
		t.Log(time.Since(start))
	})
}

// The same at the level at which calls have to take turns.
func TestSerializedTakesTurns(t *testing.T) {
	onEach(t, func(t *testing.T, in installation) {
		o := in.job(t, 2, "goroutines,level", envThreads+"=serialized", "HALYARD_TEST_MPI_LEVEL=serialized")
		if o.status != 0 || o.completed("goroutines", 2) != 2 || o.completed("level", 2) != 2 {
			t.Errorf("status %d\n%s", o.status, o.output)
		}
	})
}

func TestReturnFromRunIsClean(t *testing.T) {
	jobs := 20
	if s := os.Getenv("HALYARD_TEST_MPI_JOBS"); s != "" {
		jobs, _ = strconv.Atoi(s)
	}
	onEach(t, func(t *testing.T, in installation) {
		var clean atomic.Int32
		var wg sync.WaitGroup
		turns := make(chan struct{}, 4) // jobs wait more than they compute
		for range jobs {
			turns <- struct{}{}
			wg.Go(func() {
				defer func() { <-turns }()
				o := in.job(t, 2, "ring")
				if o.status == 0 && o.completed("ring", 2) == 2 && !strings.Contains(o.output, "BAD TERMINATION") {
					clean.Add(1)
					return
				}
				t.Errorf("status %d\n%s", o.status, o.output)
			})
		}
		wg.Wait()
		t.Logf("%d of %d jobs ended with status 0", clean.Load(), jobs)
	})
}

// One rank ends badly while the others wait for it: the job ends, with a status that is not 0, and says why.
func TestBadEndsEndTheJob(t *testing.T) {
	says := map[string]string{"panic": "scenario_test.go", "panic-elsewhere": "scenario_test.go", "error": "this rank gives up", "goexit": "runtime.Goexit",
		"exit-early": "Exit was called before Close", "os-exit": "", "kill": ""}
	onEach(t, func(t *testing.T, in installation) {
		says := maps.Clone(says)
		if in.abi == abiOpenMPI {
			says["os-exit-0"] = "" // for MPICH's launcher this is a good end: see Leaving in the package comment
		}
		for name, text := range says {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				o := in.job(t, 2, name)
				// MPICH's launcher now and then does not notice that a process ended which MPI did not end. Then it waits for ever.
				for again := 0; again < 2 && o.hung && in.abi != abiOpenMPI && name == "panic-elsewhere"; again++ {
					t.Log("the launcher did not notice that the process had ended")
					o = in.job(t, 2, name)
				}
				// And on a busy machine it may drop what a process printed before it aborted the job: see abort.
				for again := 0; again < 2 && !strings.Contains(o.output, text) && in.abi != abiOpenMPI; again++ {
					t.Log("the launcher dropped the reason")
					o = in.job(t, 2, name)
				}
				if o.status == 0 || o.hung || !strings.Contains(o.output, text) || o.completed(name, 2) != 0 {
					t.Errorf("status %d, hung: %v, want another status than 0, and %q in\n%s", o.status, o.hung, text, o.output)
				}
			})
		}
	})
}

// The error of MPI_Finalize has the library's text, as those of other calls have.
func TestFinalizeFails(t *testing.T) {
	says := regexp.MustCompile(`rank: Close: [a-z ]+ \[MPI_Finalize: .*[Ii]nvalid communicator.* \(class 5, code 5\)\]`)
	onEach(t, func(t *testing.T, in installation) {
		if o := in.job(t, 2, "finalize-fails"); o.status != 0 || o.hung || len(says.FindAllString(o.output, -1)) != 2 {
			t.Errorf("status %d, hung: %v\n%s", o.status, o.hung, o.output)
		}
	})
}

// SIGTERM cancels the context, so that a program can save its state and end well. Its logs name the rank.
func TestSIGTERMCancelsTheContext(t *testing.T) {
	onEach(t, func(t *testing.T, in installation) {
		o := in.job(t, 2, "drain")
		if o.status != 0 || o.completed("drain", 2) != 2 || !strings.Contains(o.output, "saved rank=0") || !strings.Contains(o.output, "saved rank=1") {
			t.Errorf("status %d\n%s", o.status, o.output)
		}
	})
}

// The launcher of another MPI is refused, and both are named.
func TestMismatchIsAnError(t *testing.T) {
	all := installed(t)
	for _, a := range all {
		for _, b := range all {
			if (a.abi == abiOpenMPI) == (b.abi == abiOpenMPI) || len(a.env)+len(b.env) > 0 {
				continue // such a library and the other's launcher disturb each other
			}
			t.Run(a.name+" starts "+b.name, func(t *testing.T) {
				mixed := a
				mixed.library = b.library
				o := mixed.job(t, 2, "ring")
				if o.status == 0 || o.completed("ring", 2)+o.completed("ring", 1) != 0 || !strings.Contains(o.output, "mpiexec of") || !strings.Contains(o.output, b.library) {
					t.Errorf("status %d\n%s", o.status, o.output)
				}
			})
		}
	}
}

// A sweep of tasks that are each alone says so, whatever has started them.
func TestSweep(t *testing.T) {
	t.Setenv("SLURM_STEP_NUM_TASKS", "8")
	t.Setenv("SLURM_PROCID", "1")
	onEach(t, func(t *testing.T, in installation) {
		for alone, good := range map[string]bool{"": false, "1": true} {
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			cmd.Env = append(append(os.Environ(), EnvLibrary+"="+in.library, envAlone+"="+alone, envScenarios+"=ring"), in.env...)
			out, err := cmd.CombinedOutput()
			if (err == nil) != good || !good && !strings.Contains(string(out), envAlone) {
				t.Errorf("%s=%q: %v\n%s", envAlone, alone, err, out)
			}
		}
	})
}

// A library that ends the process while it is initialised is named.
func TestLibraryThatExitsIsNamed(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	library := fakeLibrary(t, "MPICH Version: 4.0.2", -1)
	cmd.Env = append(os.Environ(), EnvLibrary+"="+library, "HALYARD_DEBUG=comm", envScenarios+"=ring")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), library) || !strings.Contains(string(out), "MPI_Init_thread") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Without a launcher a program is a job of one rank.
func TestAlone(t *testing.T) {
	onEach(t, func(t *testing.T, in installation) {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(append(os.Environ(), EnvLibrary+"="+in.library, envScenarios+"=ring,collectives"), in.env...)
		out, err := cmd.CombinedOutput()
		if o := (outcome{output: string(out)}); err != nil || o.completed("ring", 1) != 1 || o.completed("collectives", 1) != 1 {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
