package trace

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/go-halyard/halyard/internal/debug"
)

// EnvTrace is the environment variable that names the file to which a trace of the whole run is written.
const EnvTrace = "HALYARD_TRACE"

var environment struct {
	file io.Closer
	stop func()
}

func init() { obey(os.Stderr) }

// obey starts the log and the trace that the environment variables name. If the trace cannot be created, it prints the reason, because
// nothing else would report it.
func obey(stderr io.Writer) {
	if debug.Has("log") {
		environment.stop = Log(slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug})))
	}
	if name := os.Getenv(EnvTrace); name != "" {
		f, err := Create(name)
		if err != nil {
			fmt.Fprintf(stderr, "halyard: no trace is written, %s=%s: %v\n", EnvTrace, name, err)
			return
		}
		environment.file = f
	}
}

// CloseEnvironment ends the log and the trace that the environment variables started: it waits for the copies that are
// still under way, and closes the trace. It returns the first error of writing the trace, or nil. If a program
// calls it before it exits, the trace contains the ends of all copies and leases.
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
