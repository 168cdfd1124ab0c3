package trace

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/go-halyard/halyard/internal/debug"
)

// The environment variables that a program with this package obeys.
const (
	// EnvTrace names the file that a trace of the whole run is written to.
	EnvTrace = "HALYARD_TRACE"
	// EnvDebug makes every event be logged if "log" is one of the words in it, between commas.
	EnvDebug = debug.Variable
)

var environment struct {
	file *File
	stop func()
}

func init() { obey(os.Stderr) }

// obey does what the environment asks for, and complains where that cannot be done: nobody else would.
func obey(stderr io.Writer) {
	if debug.Has("log") {
		environment.stop = Log(slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug})))
	}
	if name := os.Getenv(EnvTrace); name != "" {
		f, err := Create(name)
		if err != nil {
			fmt.Fprintf(stderr, "halyard: no trace, %s=%s: %v\n", EnvTrace, name, err)
			return
		}
		environment.file = f
	}
}

// CloseEnvironment ends what the environment variables began: it waits for the copies that are still
// under way, and closes the trace. It returns the first error of writing it, nil if there is none. A program
// that calls it before it exits has every end in its trace; one that does not has those that came before.
func CloseEnvironment() error {
	var errs []error
	if environment.stop != nil {
		environment.stop()
	}
	if environment.file != nil {
		errs = append(errs, environment.file.Close())
	}
	return errors.Join(errs...)
}
