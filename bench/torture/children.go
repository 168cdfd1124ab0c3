//go:build cuda && hip && opencl && linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// children starts processes while copies are under way. The processes must work although they inherit open files and signal masks, and
// must not disturb the copies.
func children(r *run) {
	for _, s := range r.streams(1, r.fleet()...) {
		b := r.made(1 << 18)
		v := uint32(r.seed + 1)
		r.write(b, s, coherence.Overwrite, v)
		out, err := r.command(r.ctx, "echo").CombinedOutput()
		r.must(err)
		if string(out) != "child\n" {
			r.fail("a child printed %q", out)
		}
		r.same(b, v)
		r.actions.Add(3)
		r.fault(1)
	}
}

func (r *run) command(ctx context.Context, args ...string) *exec.Cmd {
	self, err := os.Executable()
	r.must(err)
	return exec.CommandContext(ctx, self, append([]string{"child"}, args...)...)
}

// process runs a child and returns what it prints. One that does not end in time counts as a hang, with the stacks of its goroutines.
func (r *run) process(limit time.Duration, env []string, args ...string) (out, why string, err error) {
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	cmd := r.command(ctx, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if ctx.Err() != nil && r.ctx.Err() == nil {
		r.count(&r.Hangs, 1)
		r.fail("process %q did not end within %s\n%s", args, limit, stderr.String())
		panic(stopped{})
	}
	return stdout.String(), stderr.String(), err
}

// signals sends SIGTERM to programs in the middle of copies.
func signals(r *run) {
	for _, careful := range []bool{true, false} {
		r.actions.Add(1)
		r.fault(1)
		mode := "careless"
		if careful {
			mode = "careful"
		}
		cmd := r.command(r.ctx, "copies", mode)
		out, err := cmd.StdoutPipe()
		r.must(err)
		var why bytes.Buffer
		cmd.Stderr = &why
		r.must(cmd.Start())
		// What it writes is "ready\n" and a byte for each copy.
		_, err = io.ReadFull(out, make([]byte, 6+r.rng.IntN(40)))
		r.must(err)
		sent := time.Now()
		r.must(cmd.Process.Signal(syscall.SIGTERM))
		rest, err := io.ReadAll(out)
		r.must(err)
		err = cmd.Wait()
		if took := time.Since(sent); took > 20*time.Second {
			r.fail("a %s program took %s to end", mode, took)
		}
		if careful {
			if err != nil || !strings.HasSuffix(string(rest), "clean\n") {
				r.fail("a program that cleans up ended with %v and said %q %q", err, rest, why.String())
			}
			continue
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
			r.fail("a program without a handler ended with %v, %q", err, why.String())
		}
	}
}

// child is what the processes do that this command starts.
func child(args []string) {
	did := errors.New("wrong usage")
	switch {
	case len(args) == 1 && args[0] == "echo":
		did = nil
		fmt.Println("child")
	case len(args) == 2 && args[0] == "copies":
		did = frame.Do(func() { copies(args[1] == "careful") })
	case len(args) == 3 && args[0] == "blend":
		did = frame.Do(func() { blends(args[1], args[2]) })
	case len(args) == 4 && args[0] == "ondone":
		did = frame.Do(func() { notified(args[1], args[2], args[3]) })
	}
	if did != nil {
		fmt.Fprintln(os.Stderr, did)
		os.Exit(1)
	}
}

// copies lets all devices write a buffer in turn until SIGTERM comes, then checks that all bytes are right and closes everything.
func copies(careful bool) {
	ctx, stop := background, func() {}
	if careful {
		ctx, stop = signal.NotifyContext(background, syscall.SIGTERM)
	}
	defer stop()
	var streams []*hal.Stream
	var open []io.Closer
	for _, r := range hal.List(ctx) {
		for _, i := range r.Devices {
			d := frame.Get(hal.Open(ctx, i.Name()))
			s := frame.Get(d.NewStream())
			streams, open = append(streams, s), append(open, d, s)
		}
	}
	b := frame.Get(buffer.New[uint32](1 << 20))
	fmt.Println("ready")
	n := uint32(0)
	for ctx.Err() == nil {
		s := streams[int(n)%len(streams)]
		l := frame.Get(b.TryAcquire(s, coherence.ReadWrite))
		n++
		frame.Must(s.Fill(l.Region(), hal.Pattern32(n)))
		frame.Must(l.Release())
		fmt.Print(".")
	}
	frame.Must(b.View(background, func(got []uint32) error {
		if bad := differing(got, n); bad > 0 {
			return fmt.Errorf("%d bytes are not those of %d", bad, n)
		}
		return nil
	}))
	frame.Must(hal.CloseAll(append(open, b)...))
	fmt.Println("clean")
}
