// Command wgpu runs one of the programs of bench/apps with gogpu/wgpu, which is WebGPU in Go without cgo, and kernels in WGSL.
//
//	wgpu PROGRAM N STEPS REPEATS IN OUT DEVICE
//
// DEVICE is a part of the adapter's name. It is a module of its own, so that nobody but its users needs gogpu/wgpu. This file has what the programs
// share for the measurement.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

var n, steps, repeats int

func main() {
	programs := map[string]func(*device, []byte) []byte{"mandelbrot": mandelbrot, "nbody": nbody, "heat": heat, "cg": cg, "kmeans": kmeans, "pathtracer": pathtracer}
	if len(os.Args) != 8 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: wgpu PROGRAM N STEPS REPEATS IN OUT DEVICE")
		os.Exit(2)
	}
	for i, to := range []*int{&n, &steps, &repeats} {
		*to = try(strconv.Atoi(os.Args[2+i]))
	}
	in := try(os.ReadFile(os.Args[5]))
	d := open()
	if !strings.Contains(d.name, os.Args[7]) {
		fail(fmt.Errorf("the adapter is %s; no device with %q in its name", d.name, os.Args[7]))
	}
	say(map[string]any{"device": "gogpu/wgpu, " + d.name})
	fail(os.WriteFile(os.Args[6], programs[os.Args[1]](d, in), 0o600))
	d.close()
}

func say(line any) { fmt.Println(string(try(json.Marshal(line)))) }

// timed calls fn once without measuring it, and then as often as was asked for.
func timed(fn func()) {
	for i := range repeats + 1 {
		start := time.Now()
		fn()
		if i > 0 {
			say(map[string]any{"case": "run", "ns": time.Since(start).Nanoseconds()})
		}
	}
}

// fail ends the program if there is an error.
func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func try[T any](v T, err error) T {
	fail(err)
	return v
}
