// Command testreport runs go test with the arguments that it is given and says at the end which tests
// were skipped, and why:
//
//	go run ./internal/testing/testreport -race ./...
//
// The line of each package and the output of tests that fail are as go test prints them. The last line is
// "N passed, N failed, N skipped", of tests that have no subtests. The exit status is 1 if anything
// failed.
//
// A test that may do less than all of its work, because of -short for example, says what it did in its last message: "did 25 of 100 random kernels".
// The report lists those that did less. Without -short and -race they count as failed.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
)

func main() {
	// An interrupt ends go test, but not this program, which still has to print the report. The signal is caught and not ignored,
	// because go test would inherit that and ignore it too.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	r := newReport(os.Stdout)
	r.whole = !slices.ContainsFunc(os.Args[1:], func(a string) bool { return a == "-short" || a == "-race" })
	readErr := r.read(out)
	err = cmd.Wait()
	r.finish()
	switch {
	case readErr != nil:
		fmt.Fprintln(os.Stderr, "testreport:", readErr)
		os.Exit(1)
	case err != nil || r.failed() > 0:
		os.Exit(1)
	}
}
