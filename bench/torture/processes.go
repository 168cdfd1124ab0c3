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

	"github.com/go-halyard/halyard/bench/internal/frame"
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
func blends(device, number string) {
	a := uint32(frame.Get(strconv.Atoi(number)))
	d := frame.Get(hal.Open(background, device))
	s := frame.Get(d.NewStream())
	x, want := make([]uint32, 1000), make([]uint32, 1000)
	for i := range x {
		x[i], want[i] = uint32(i*i), a
	}
	in, out := frame.Get(buffer.From(x)), frame.Get(buffer.From(want))
	mixed(want, a, x, 0)
	frame.Must(mix.Kernel("blend").Launch(background, s, hal.Over(len(x)), kernel.Value(a), kernel.In(in), kernel.InOut(out), kernel.Value(uint32(len(x)))))
	frame.Must(out.View(background, func(got []uint32) error {
		if !slices.Equal(got, want) {
			return errors.New("wrong elements")
		}
		return nil
	}))
	frame.Must(hal.CloseAll(d, s, in, out))
	fmt.Println("right")
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
func notified(device, of, how string) {
	ctx, cancel := context.WithTimeout(background, processTime/2)
	defer cancel()
	d := frame.Get(hal.Open(ctx, device))
	s := frame.Get(d.NewStream())
	notify := func(fn func()) error {
		if of == "stream" && d.Info().Caps.Has(hal.CapHostCallback) {
			return s.OnDone(fn)
		}
		e := frame.Get(s.Record())
		return errors.Join(e.OnDone(func(error) { fn() }), e.Close())
	}
	for i := range 4 {
		ended := make(chan struct{})
		g := frame.Get(s.Gate()) // so that something is left to wait for
		err := notify(func() {
			defer close(ended)
			switch {
			case i > 0:
			case how == "exit":
				runtime.Goexit()
			default:
				panic(errThrown)
			}
		})
		frame.Must(errors.Join(err, g.Signal()))
		select {
		case <-ended:
		case <-ctx.Done():
			frame.Must(fmt.Errorf("function %d was not called", i))
		}
		frame.Must(s.Sync(ctx))
	}
	frame.Must(hal.CloseAll(d, s))
	fmt.Println("clean")
}
