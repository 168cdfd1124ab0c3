package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The exit statuses.
const (
	exitPassed = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errReported ends a command with status 1. The command's output already says why.
var errReported = errors.New("reported")

// run runs the whole command and returns the exit status, without ending the process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(append([]string{}, args...)) // nil would mean the arguments of the process
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitPassed
	case errors.Is(err, errReported):
		return exitFailed
	case errors.As(err, new(childStatus)):
		return childCode(err)
	case errors.As(err, new(usageError)):
		fmt.Fprintf(stderr, "halyard: %s (see halyard --help)\n", oneLine(err))
		return exitUsage
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "halyard: interrupted")
		return exitFailed
	}
	fmt.Fprintf(stderr, "halyard: %s\n", oneLine(err))
	return exitFailed
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "halyard",
		Short: "Show compute devices and run the conformance suite on them",
		Long: `Halyard gives a program one memory model over its CPU and every GPU it meets.
This command shows which devices such a program finds here, and checks that they
fulfil the contracts on which coherent buffers are built.

The backends cuda, opencl, hip and vulkan are in the command if it was built with the
tags of the same names; it looks for their drivers when it runs.`,
		Example: `  halyard devices
  halyard check
  halyard check --device host:0 --run '^Copy/'
  halyard check --file README.md`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := ""
		if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
			hint = fmt.Sprintf("; did you mean %s?", strings.Join(s, " or "))
		}
		return usage("unknown command %q%s", args[0], hint)
	}
	root.SuggestionsMinimumDistance = 2
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newDevices(), newCheck(), newTrace(), newKernels(), newComm(), newVersion())
	root.SetHelpCommand(newHelp(root))
	return root
}

// newHelp returns cobra's help command, but with an error for a command that does not exist.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usage("no help for %q: no such command", strings.Join(args, " "))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// noArguments returns an error for an argument that is not a flag.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments, only flags: %q", cmd.CommandPath(), args[0])
	}
	return nil
}
