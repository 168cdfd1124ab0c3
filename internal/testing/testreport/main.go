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
//
// With -without FILE as its first arguments it leaves out the packages and tests that the file names, and lists them with the file's reasons:
//
//	go run ./internal/testing/testreport -without internal/testing/testreport/without.txt -short ./...
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
	args, left, err := arguments(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
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
	r.whole = !slices.ContainsFunc(args, func(a string) bool { return a == "-short" || a == "-race" })
	readErr := r.read(out)
	err = cmd.Wait()
	r.finish(left)
	switch {
	case readErr != nil:
		fmt.Fprintln(os.Stderr, "testreport:", readErr)
		os.Exit(1)
	case err != nil || r.failed() > 0:
		os.Exit(1)
	}
}

// arguments returns those of go test, and what is left out.
func arguments(args []string) ([]string, without, error) {
	if len(args) < 3 || args[0] != "-without" {
		return args, without{}, nil
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return nil, without{}, err
	}
	left, err := parseWithout(args[1], string(text))
	if err != nil {
		return nil, without{}, err
	}
	args, err = left.arguments(args[2:])
	return args, left, err
}
