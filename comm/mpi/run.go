package mpi

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// Run starts MPI, calls fn, finalizes MPI, and ends the process so that its launcher sees a normal end. It does not return. All ranks of
// the job call it.
//
// If fn returns an error, panics, or calls runtime.Goexit, Run prints that on the standard error, a panic with its stack. It then ends all
// processes of the job with a status that is not 0, because other ranks may wait for this one.
//
// The context is cancelled when fn has returned, and by SIGTERM, which batch systems send some time before they end a job: fn can then save
// its state and return nil. A second SIGTERM ends the process. In a job of several ranks slog's default logger gets the attribute rank.
func Run(fn func(ctx context.Context, e driver.Engine) error) {
	e, err := start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		leave(1)
	}
	if e.world.Size() > 1 {
		slog.SetDefault(slog.Default().With("rank", e.world.Rank()))
	}
	done := make(chan error)
	go func() {
		err := errGoexit
		defer func() {
			if v := recover(); v != nil {
				fmt.Fprintf(os.Stderr, "rank %d: panic: %v\n\n%s", e.world.Rank(), v, debug.Stack())
				e.abort(2)
			}
			done <- err
		}()
		ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer cancel()
		context.AfterFunc(ctx, cancel) // it also ends the catching of SIGTERM, so that a second one ends the process
		err = fn(ctx, e)
	}()
	if err := <-done; err != nil {
		fmt.Fprintf(os.Stderr, "rank %d: %v\n", e.world.Rank(), err)
		e.abort(1)
	}
	if !e.closed.Load() {
		if err := e.Close(); err != nil {
			fmt.Fprintf(os.Stderr, "rank %d: %v\n", e.world.Rank(), err)
			leave(1)
		}
	}
	leave(0)
}

// abort ends the job. Before that it waits a moment, because MPICH's launcher drops output that it has not read when a job is aborted. On a
// busy machine 100 ms were not always enough.
func (e *engine) abort(code int) {
	time.Sleep(500 * time.Millisecond)
	e.world.Abort(code)
}

// Exit ends the process as the launcher expects. Before [Start] it is os.Exit. While the engine is open, Exit ends the whole job, because
// other ranks may wait for this one; the status is code, or 1 if code is 0. For a normal end close the engine first.
func Exit(code int) {
	process.Lock()
	e := process.engine
	process.Unlock()
	if e == nil {
		os.Exit(code)
	}
	if !e.closed.Load() && !e.foreign {
		if code == 0 {
			code = 1
			fmt.Fprintf(os.Stderr, "rank %d: Exit was called before Close: the job is ended\n", e.world.Rank())
		}
		e.abort(code)
	}
	leave(code)
}

// leave ends the process through C's exit, which runs the functions that libraries have registered with atexit.
func leave(code int) {
	if exit := dl.Process().Proc("exit"); exit.Valid() {
		exit.Call1(uintptr(code))
	}
	os.Exit(code)
}
