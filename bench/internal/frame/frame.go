// Package frame has what the commands that measure have in common: how they begin and end, how they start other programs, and where reports go.
//
// An error ends a measurement. There is nothing to do between the call that fails and the end of the program but to close what is open, so
// commands call [Must], [Get] and [Close] in place of returning errors from call to call.
package frame

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-halyard/halyard/bench/internal/timing"
)

// failed is the panic of Must.
type failed struct{ error }

// Must returns to the [Do] that is nearest on this goroutine if there is an error.
func Must(err error) {
	if err != nil {
		panic(failed{err})
	}
}

// Get returns the value of a call that has succeeded; see [Must].
func Get[T any](v T, err error) T {
	Must(err)
	return v
}

// Do calls fn, and returns the error with which a call of Must ended it.
func Do(fn func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failed:
			err = p.error
		default:
			panic(p)
		}
	}()
	fn()
	return nil
}

// Close is for defer: it closes c. The error of Must under way comes first.
func Close(c io.Closer) { Then(recover(), c.Close()) }

// Then goes on with p, which recover returned in a deferred function, and adds an error.
func Then(p any, err error) {
	switch p := p.(type) {
	case nil:
		Must(err)
	case failed:
		Must(errors.Join(p.error, err))
	default:
		panic(p)
	}
}

// Main calls run, with a context that an interrupt ends, as [Do] does. If there is an error, it prints that, and the program ends with status 1.
func Main(name string, run func(ctx context.Context)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := Do(func() { run(ctx) }); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Document is the flag for the file of [Write].
func Document() *string {
	return flag.String("document", "", "a Markdown file whose part between the markers is replaced; standard output if empty")
}

// Parse parses the flags. If more arguments are left than may be, or the flags are not sound, the program ends with status 2.
func Parse(most int, sound func() bool) {
	flag.Parse()
	if flag.NArg() > most || !sound() {
		flag.Usage()
		os.Exit(2)
	}
}

// Write puts text between the markers of a file, or prints it if the file has no name.
func Write(file, name, text string) {
	if file == "" {
		Get(fmt.Print(text))
		return
	}
	Must(timing.Replace(file, name, text))
}

// JSON writes v to a file, unless that has no name.
func JSON(file string, v any) {
	if file != "" {
		Must(os.WriteFile(file, append(Get(json.MarshalIndent(v, "", "\t")), '\n'), 0o644))
	}
}

// Relative returns the path from a document to a picture, or "" if there is no picture.
func Relative(document, picture string) string {
	if rel, err := filepath.Rel(filepath.Dir(document), picture); err == nil && document != "" && picture != "" {
		picture = rel
	}
	return filepath.ToSlash(picture)
}

// Today says when, where and of which Halyard a report is.
func Today() string {
	return fmt.Sprintf("%s; %s; Halyard at %s", time.Now().UTC().Format(time.DateOnly), timing.Machine(), timing.Version())
}

// Load is the load average of the last minute, "" where the system does not report it.
func Load() string {
	text, _ := os.ReadFile("/proc/loadavg") // only Linux has it
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// Self is the path of this program.
func Self() string { return Get(os.Executable()) }

// Output runs a program, with more variables in its environment, and returns what it prints. If it fails, its standard error is shown, and the
// error has the last line of that.
func Output(ctx context.Context, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var out, why strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &why
	err := cmd.Run()
	if err != nil && why.Len() > 0 {
		fmt.Fprintln(os.Stderr, strings.TrimSpace(why.String()))
		err = fmt.Errorf("%w: %s", err, Last(why.String()))
	}
	if err != nil {
		return "", err
	}
	return out.String(), nil
}

// Last returns the last line of a text that is not empty.
func Last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// Samples are the times of one thing, in nanoseconds, one of each round.
type Samples []float64

// Beside returns cells of a Markdown table: the medians of theirs and ours, as [timing.Duration] prints them, and of the ratios of the rounds the
// median, the lowest and the highest.
func (ours Samples) Beside(theirs Samples) string {
	var ratios []float64
	for i := range ours {
		ratios = append(ratios, ours[i]/theirs[i])
	}
	r := timing.Summarize(ratios)
	return fmt.Sprintf("%s | %s | %.2f | %.2f - %.2f", timing.Duration(timing.Summarize(theirs).Median), timing.Duration(timing.Summarize(ours).Median),
		r.Median, r.Min, r.Max)
}
