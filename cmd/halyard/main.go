// Command halyard shows the devices that a program built with Halyard finds on this machine, runs the
// conformance suite on them, and shows what a program moves between them. It translates kernels that are
// written in Go.
//
//	halyard devices
//	halyard check --backend opencl
//	halyard check --file PATH
//	halyard trace -- ./program
//	halyard kernels ./physics
//	mpiexec -n 4 halyard comm check
//
// The exit status is 0, 1 if a check failed or something required is missing, or 2 for wrong usage.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/go-halyard/halyard/backends" // the backends that the build tags select
	"github.com/go-halyard/halyard/comm/mpi"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)                          // a second signal ends the process at once
	mpi.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr)) // os.Exit, unless MPI was started
}
