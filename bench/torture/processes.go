//go:build cuda && hip && opencl && linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

func init() {
	scenarios = append(scenarios,
		scenario{name: "fresh caches", do: freshCaches, every: 10, limit: 10 * time.Minute,
			what: "three or four processes start together, on caches of compiled kernels that are empty and that they share; each compiles a kernel, runs it and compares with plain Go"},
		scenario{name: "functions of OnDone that do not return", do: onDone, every: 10, limit: 10 * time.Minute,
			what: "in processes of their own, functions of OnDone call runtime.Goexit, after which all goes on, or panic, which ends the process with that panic"})
}

// processTime is how long a process may take that does little.
const processTime = 2 * time.Minute

// openable returns the names of devices that another process can open, and that can compile.
func (r *run) openable() (names []string) {
	for _, d := range r.computing(r.w.always) {
		if d.Info().Backend != "far" {
			names = append(names, d.Name())
		}
	}
	return names
}

func freshCaches(r *run) {
	// A cache on disk is only for devices with a compiler.
	names := slices.DeleteFunc(r.openable(), func(name string) bool { return strings.HasPrefix(name, "host") })
	if os.Getenv("HALYARD_NVRTC_LIBRARY") != "" {
		names = append(names, simulated[0])
	}
	if len(names) == 0 {
		return
	}
	for _, name := range names {
		dir, err := os.MkdirTemp("", "torture")
		r.must(err)
		defer func() { r.must(os.RemoveAll(dir)) }()
		var env []string
		for _, cache := range []string{"POCL_CACHE_DIR", "HALYARD_KERNEL_CACHE", "XDG_CACHE_HOME", "CUDA_CACHE_PATH"} {
			path := filepath.Join(dir, cache)
			r.must(os.Mkdir(path, 0o700))
			env = append(env, cache+"="+path)
		}
		var all sync.WaitGroup
		for i := range 3 + r.rng.IntN(2) {
			all.Go(func() {
				r.guard(func() {
					r.actions.Add(1)
					out, why, err := r.process(processTime, env, "blend", name, strconv.Itoa(i))
					if err != nil || out != "right\n" {
						r.fail("process %d on %s: %v; it printed %q and\n%s", i, name, err, out, why)
					}
				})
			})
		}
		all.Wait()
	}
}

// blends is what a process of freshCaches does.
func blends(device, number string) (err error) {
	a, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	d, err := hal.Open(background, device)
	if err != nil {
		return err
	}
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	x, want := make([]uint32, 1000), make([]uint32, 1000)
	for i := range x {
		x[i], want[i] = uint32(i*i), uint32(a)
	}
	in, err := buffer.From(x)
	if err != nil {
		return err
	}
	out, err := buffer.From(want)
	if err != nil {
		return err
	}
	mixed(want, uint32(a), x, 0)
	err = mix.Kernel("blend").Launch(background, s, hal.Over(len(x)), kernel.Value(uint32(a)), kernel.In(in), kernel.InOut(out), kernel.Value(uint32(len(x))))
	if err != nil {
		return err
	}
	err = out.View(background, func(got []uint32) error {
		if !slices.Equal(got, want) {
			return errors.New("wrong elements")
		}
		return nil
	})
	if err := errors.Join(err, hal.CloseAll(d, s, in, out)); err != nil {
		return err
	}
	fmt.Println("right")
	return nil
}

func onDone(r *run) {
	for _, name := range append(r.openable(), simulated[0]) {
		of := []string{"event", "stream"}[r.rng.IntN(2)]
		r.actions.Add(2)
		r.fault(2)
		out, why, err := r.process(processTime, nil, "ondone", name, of, "exit")
		if err != nil || out != "clean\n" {
			r.fail("the function of an OnDone of a %s of %s called Goexit: %v; the process printed %q and\n%s", of, name, err, out, why)
		}
		out, why, err = r.process(processTime, nil, "ondone", name, of, "panic")
		if err == nil || !strings.HasPrefix(strings.TrimSpace(why), "panic: "+errThrown.Error()) {
			r.fail("the function of an OnDone of a %s of %s panicked: %v; the process printed %q and\n%s", of, name, err, out, why)
		}
	}
}

// notified is what a process of onDone does.
func notified(device, of, how string) error {
	ctx, cancel := context.WithTimeout(background, processTime/2)
	defer cancel()
	d, err := hal.Open(ctx, device)
	if err != nil {
		return err
	}
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	notify := func(fn func()) error {
		if of == "stream" && d.Info().Caps.Has(hal.CapHostCallback) {
			return s.OnDone(fn)
		}
		e, err := s.Record()
		if err != nil {
			return err
		}
		return errors.Join(e.OnDone(func(error) { fn() }), e.Close())
	}
	for i := range 4 {
		ended := make(chan struct{})
		g, err := s.Gate() // so that something is left to wait for
		if err == nil {
			err = notify(func() {
				defer close(ended)
				switch {
				case i > 0:
				case how == "exit":
					runtime.Goexit()
				default:
					panic(errThrown)
				}
			})
			err = errors.Join(err, g.Signal())
		}
		if err != nil {
			return err
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return fmt.Errorf("function %d was not called", i)
		}
		if err := s.Sync(ctx); err != nil {
			return err
		}
	}
	if err := hal.CloseAll(d, s); err != nil {
		return err
	}
	fmt.Println("clean")
	return nil
}
