// Command measured makes the calls whose paths command path counts, and prints which functions each of them entered.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-halyard/halyard"
	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/internal/testing/path/hook"
)

const count = 1 << 12 // elements

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "measured:", err)
		os.Exit(1)
	}
}

// device opens the simulated CUDA device if its library is named, else a device of the host that has memory of its own.
func device(ctx context.Context) (*hal.Device, error) {
	if os.Getenv("HALYARD_CUDA_LIBRARY") != "" {
		return hal.Open(ctx, "cuda:0")
	}
	return discrete(ctx)
}

func discrete(ctx context.Context) (*hal.Device, error) {
	return hal.OpenWith(ctx, host.New(host.Options{Name: "path", Discrete: 1}), 1)
}

func main() {
	ctx := context.Background()
	dev, err := device(ctx)
	check(err)
	fmt.Println(dev.Name())
	stream, err := dev.NewStream()
	check(err)
	x, err := buffer.New[float32](count)
	check(err)

	write := func() { check(x.Overwrite(ctx, func([]float32) error { return nil })) }
	work := func() {
		l, err := x.Acquire(ctx, stream, coherence.ReadWrite)
		check(err)
		check(stream.Fill(l.Region(), hal.Pattern8(7)))
		check(l.Release())
	}
	var lease buffer.Lease
	acquire := func() {
		lease, err = x.Acquire(ctx, stream, coherence.Read)
		check(err)
	}
	release := func() { check(lease.Release()) }
	measure("stale Acquire", write, acquire, release)
	measure("clean Acquire", func() {}, acquire, release)
	measure("View after device work", work, func() { check(x.View(ctx, func([]float32) error { return nil })) }, func() {})
	check(hal.CloseAll(dev, stream, x))

	dev, err = hal.Open(ctx, "opencl:0")
	if err != nil { // the simulated devices run only kernels that they know
		dev, err = discrete(ctx)
	}
	check(err)
	stream, err = dev.NewStream()
	check(err)
	launch("launch through a queue", halyard.On(ctx, stream))
	check(hal.CloseAll(dev, stream))
	check(os.Setenv("HALYARD_HOST_DEVICES", "2"))
	q := halyard.Open(ctx, "host:1", "host:2")
	launch("divided launch", q)
	check(q.Close())
}

// launch measures a launch on buffers whose elements are where they are needed.
func launch(name string, q *halyard.Queue) {
	x, y := halyard.New[float32](q, count), halyard.New[float32](q, count)
	divided.Saxpy(q, 2, x, y)
	measure(name, q.Sync, func() { divided.Saxpy(q, 2, x, y) }, q.Sync)
	x.Close()
	y.Close()
	check(q.Err())
}

// measure prints what the call entered the third time: what is made once is there by then.
func measure(name string, before, call, after func()) {
	var entries hook.Entries
	for range 3 {
		before()
		hook.Begin()
		call()
		entries = hook.End()
		after()
	}
	text, err := json.Marshal(struct {
		Name string
		hook.Entries
	}{name, entries})
	check(err)
	fmt.Println(string(text))
}
