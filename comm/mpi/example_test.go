package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/mpi"
	"github.com/go-halyard/halyard/hal"
)

// greet is what each process of a job does. A program passes it to mpi.Run, which starts MPI and ends the process as its launcher expects.
func greet(ctx context.Context, e comm.Engine) error {
	fmt.Println("rank", e.World().Rank(), "of", e.World().Size())
	return nil
}

// Without its library the engine is unavailable. The error has every name that was tried, and the program can go another way.
func ExampleStart() {
	old, set := os.LookupEnv(mpi.EnvLibrary)
	defer func() {
		if set {
			os.Setenv(mpi.EnvLibrary, old)
		} else {
			os.Unsetenv(mpi.EnvLibrary)
		}
	}()
	os.Setenv(mpi.EnvLibrary, "/nonexistent/libmpi.so")

	_ = greet // mpi.Run(greet) does not return
	_, err := mpi.Start()
	fmt.Println(errors.Is(err, hal.ErrUnavailable))
	// Output: true
}
