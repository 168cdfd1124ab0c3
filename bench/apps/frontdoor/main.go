// Command frontdoor runs one of the programs of bench/apps, written with package halyard and kernels in Go as a user would.
//
//	frontdoor PROGRAM N STEPS REPEATS IN OUT DEVICE...
//
// A device is "host", the name of a device, such as "vulkan:0", or a part of the name of a driver, such as an OpenCL platform, or of a device, such as
// "cuda"; "all" is what halyard.Open takes for it. The programs whose names end in "-recorded" need an even number of steps. This file has what the programs share for the measurement.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

var (
	ctx               = context.Background()
	n, steps, repeats int
	in, out           string
	devices           []string
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) (err error) {
	programs := map[string]func() error{"stream": stream, "mandelbrot": mandelbrot, "nbody": nbody, "heat": heat, "cg": cg, "kmeans": kmeans, "pathtracer": pathtracer,
		"heat-recorded": heatRecorded, "cg-recorded": cgRecorded}
	if len(args) < 7 || programs[args[0]] == nil {
		return errors.New("usage: frontdoor PROGRAM N STEPS REPEATS IN OUT DEVICE [DEVICE]")
	}
	for i, to := range []*int{&n, &steps, &repeats} {
		if *to, err = strconv.Atoi(args[1+i]); err != nil {
			return err
		}
	}
	in, out = args[4], args[5]
	for _, arg := range args[6:] {
		name, err := find(arg)
		if err != nil {
			return err
		}
		devices = append(devices, name)
	}
	if err := os.WriteFile(out, nil, 0o600); err != nil {
		return err
	}
	return programs[args[0]]()
}

// open opens the devices. With HALYARD_BENCH_SHARES=equal each of them gets the same share of every launch.
func open() *halyard.Queue {
	q := halyard.Open(ctx, devices...)
	if split := q.Split(); split != nil && os.Getenv("HALYARD_BENCH_SHARES") == "equal" {
		q.Fail(split.SetShares(slices.Repeat([]float64{1}, len(devices))...))
	}
	return q
}

// find returns the name of the device.
func find(name string) (string, error) {
	if name == "all" {
		return name, nil
	}
	if strings.Contains(name, ":") { // hal.Devices lists hardware once, by one of its backends
		d, err := hal.Open(ctx, name)
		if err != nil {
			return "", err
		}
		say(map[string]any{"device": d.Info().Driver})
		return name, d.Close()
	}
	infos, err := hal.Devices(ctx)
	for _, i := range infos {
		if i.Name() == "host:0" && name == "host" || i.Backend != "host" && (strings.Contains(i.Driver, name) || strings.Contains(i.Name(), name)) {
			say(map[string]any{"device": i.Driver})
			return i.Name(), nil
		}
	}
	return "", errors.Join(err, hal.Errorf("apps", hal.ErrNotFound, "no device with %q in its name", name))
}

func say(line any) {
	text, _ := json.Marshal(line) // maps of strings and numbers
	fmt.Println(string(text))
}

// timed calls fn once without measuring it, and then as often as was asked for.
func timed(fn func()) {
	for i := range repeats + 1 {
		clock("run", i > 0, fn)
	}
}

// clock calls fn, and says how long that took if it is to be measured.
func clock(name string, measured bool, fn func()) {
	start := time.Now()
	fn()
	if measured {
		say(map[string]any{"case": name, "ns": time.Since(start).Nanoseconds()})
	}
}

// read returns the input.
func read[T any](q *halyard.Queue) (data []T) {
	text, err := os.ReadFile(in)
	q.Fail(err)
	data = make([]T, len(text)/binary.Size(*new(T)))
	_, err = binary.Decode(text, binary.NativeEndian, data)
	q.Fail(err)
	return data
}

// write appends numbers to the result.
func write[T any](q *halyard.Queue, data ...[]T) {
	var b bytes.Buffer
	q.Fail(binary.Write(&b, binary.NativeEndian, slices.Concat(data...)))
	f, err := os.OpenFile(out, os.O_APPEND|os.O_WRONLY, 0)
	q.Fail(err)
	_, err = f.Write(b.Bytes())
	q.Fail(errors.Join(err, f.Close()))
}
