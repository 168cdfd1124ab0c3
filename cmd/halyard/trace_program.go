package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-halyard/halyard/buffer/trace"
)

// childStatus is the exit status of a traced program if it is not 0.
type childStatus int

func (s childStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// childCode returns the exit status in an error that has one.
func childCode(err error) int {
	var s childStatus
	errors.As(err, &s)
	return int(s)
}

// runProgram runs a program with HALYARD_TRACE set and shows on the standard error what it did; the
// program itself writes to the standard output.
func (o *traceOptions) runProgram(cmd *cobra.Command, args []string) error {
	name, err := tempTrace()
	if err != nil {
		return err
	}
	defer os.Remove(name)
	child := exec.CommandContext(cmd.Context(), args[0], args[1:]...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, cmd.OutOrStdout(), cmd.ErrOrStderr()
	child.Env = append(os.Environ(), trace.EnvTrace+"="+name)
	child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
	child.WaitDelay = 10 * time.Second
	err = child.Run()
	if child.ProcessState == nil {
		return err
	}
	says := cmd.ErrOrStderr()
	status := child.ProcessState.ExitCode()
	if ws, ok := child.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		status = 128 + int(ws.Signal())
	}
	if status != 0 {
		fmt.Fprintf(says, "halyard: %s: %v\n", args[0], child.ProcessState)
	}
	if err := o.showProgram(cmd, name, args); err != nil {
		fmt.Fprintf(says, "halyard: %s\n", oneLine(err))
		if status == 0 {
			return errReported
		}
	}
	if status != 0 {
		return childStatus(status)
	}
	return nil
}

// errUntraced says that a program wrote no trace.
var errUntraced = errors.New("wrote no trace: it must be a Go program that imports github.com/go-halyard/halyard, or buffer/trace of it for its side effect, " +
	"and it must not clear its environment")

func (o *traceOptions) showProgram(cmd *cobra.Command, name string, args []string) error {
	if info, err := os.Stat(name); err != nil {
		return err
	} else if info.Size() == 0 {
		return fmt.Errorf("%s %w", args[0], errUntraced)
	}
	says := cmd.ErrOrStderr()
	fmt.Fprintf(says, "\n%s:\n\n", strings.Join(args, " "))
	return o.show(says, name, "halyard trace -- "+filepath.Base(args[0]))
}
