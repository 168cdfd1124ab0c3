package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-halyard/halyard/comm/mpi"
	"github.com/go-halyard/halyard/internal/comm/conformance"
	comm "github.com/go-halyard/halyard/internal/comm/driver"
)

// commCheckOptions are the flags of comm check.
type commCheckOptions struct {
	match   string
	exclude []string
	list    bool
	verbose bool
	timeout time.Duration
}

// A test puts an engine that breaks a rule in its place.
var startMPI = mpi.Start

func newCommCheck() *cobra.Command {
	o := &commCheckOptions{}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Run the conformance suite for message engines on the MPI library, under mpiexec",
		Long: `Start the MPI library that a program would find here and hold it to the rules of
messages, collective operations, communicators, threads, memory.
Start this command with the library's own launcher and two or more ranks; four is best.
Without a launcher it is a job of one rank, and most checks are skipped. Rank 0 prints.

The last line is "N passed, N failed, N skipped". A check that needs more ranks, or that
ends the job, is skipped. A check that fails is reported with the rank that found it, and
the others are run, as long as the ranks can agree on the outcome; it may take twice the
timeout. The exit status is 1 if a check failed or no library was found.`,
		Example: `  mpiexec -n 4 halyard comm check
  mpiexec -n 4 halyard comm check --run '^Collectives/'
  mpiexec -n 4 halyard comm check --exclude 'Messages/StayInTheirMemory=Open MPI 5.0.11 writes there'
  halyard comm check --list`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.match, "run", "", "only checks whose group/name matches this regular `expression`")
	f.StringArrayVar(&o.exclude, "exclude", nil, "leave a check out: `Group/Name=reason`; may be repeated")
	f.BoolVar(&o.list, "list", false, "list the checks with the rule that each one enforces, and run none")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "list every check with its outcome")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "how long one check may take")
	return cmd
}

func (o *commCheckOptions) run(cmd *cobra.Command) error {
	match, err := regexp.Compile(o.match)
	if err != nil {
		return usage("--run: %w", err)
	}
	if o.timeout <= 0 {
		return usage("--timeout must be positive, but is %s", o.timeout)
	}
	excluded := map[string]string{}
	for _, x := range o.exclude {
		name, why, ok := strings.Cut(x, "=")
		if !ok || name == "" || strings.TrimSpace(why) == "" {
			return usage("--exclude %q: write Group/Name=reason", x)
		}
		if !slices.ContainsFunc(conformance.Checks(), func(c conformance.Check) bool { return c.Name == name }) {
			return usage("--exclude %q: no check has that name; halyard comm check --list shows them", x)
		}
		excluded[name] = strings.TrimSpace(why)
	}
	var checks []conformance.Check
	for _, c := range conformance.Checks() {
		if match.MatchString(c.Name) {
			checks = append(checks, c)
		}
	}
	if len(checks) == 0 {
		return usage("--run %q: no check matches; halyard comm check --list shows them", o.match)
	}
	if o.list {
		for _, c := range checks {
			fmt.Fprintf(cmd.OutOrStdout(), "%s\n    %s\n", c.Name, c.Rule)
		}
		return nil
	}
	e, err := startMPI()
	if err != nil {
		return err
	}
	out := io.Discard
	if e.World().Rank() == 0 {
		out = cmd.OutOrStdout()
		i := e.Info()
		fmt.Fprintf(out, "%s, %s ABI, %d ranks\n", i.Library, i.ABI, e.World().Size())
	}
	failed := o.execute(cmd.Context(), e, checks, excluded, out)
	if failed == nil {
		return e.Close()
	}
	if e.World().Rank() != 0 {
		// Rank 0 prints the totals and then ends the job. This rank waits for that, because finalizing may never end after a failure.
		select {
		case <-cmd.Context().Done():
		case <-time.After(o.timeout):
		}
	}
	return errReported // the end of the process then aborts the job
}

// execute runs the checks on this rank and prints their outcomes.
func (o *commCheckOptions) execute(ctx context.Context, e comm.Engine, checks []conformance.Check, excluded map[string]string, out io.Writer) error {
	passed, skipped := 0, 0
	checks = slices.DeleteFunc(slices.Clone(checks), func(c conformance.Check) bool {
		reason, ok := excluded[c.Name]
		if ok {
			skipped++
			fmt.Fprintf(out, "skip %s: %s\n", c.Name, reason)
		}
		return ok
	})
	failed, done := 0, 0
	err := conformance.Execute(ctx, e, checks, o.timeout, func(c conformance.Check, reason string, found *conformance.Error) {
		done++
		switch {
		case reason != "":
			skipped++
			fmt.Fprintf(out, "skip %s: %s\n", c.Name, reason)
		case found != nil:
			failed++
			fmt.Fprintf(out, "FAIL %v\n", found)
		default:
			passed++
			if o.verbose {
				fmt.Fprintf(out, "pass %s\n", c.Name)
			}
		}
	})
	if err != nil {
		failed++
		fmt.Fprintf(out, "FAIL %s: %v\n", checks[done].Name, err)
		if left := len(checks) - done - 1; left > 0 {
			fmt.Fprintf(out, "not run, after that failure: %d checks\n", left)
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if err == nil && failed > 0 {
		err = errReported
	}
	return err
}
