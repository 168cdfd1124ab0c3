// Command halyard runs one of the programs of bench/apps on Halyard.
//
//	halyard PROGRAM KERNELS N STEPS REPEATS IN OUT DEVICE...
//
// KERNELS is "c", or "go" for heat and cg: what the kernels are written in. A device is "host" or a part of the name of an OpenCL platform. With HALYARD_BENCH_MPI=1 the
// program is one rank of a job.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/mpi"
	"github.com/go-halyard/halyard/hal"
)

// job is what a program is given.
type job struct {
	inGo              bool // the kernels are in Go
	n, steps, repeats int
	in, out           string
	streams           []*hal.Stream
	comm              *comm.Comm // nil without ranks
}

var programs = map[string]func(context.Context, *job) error{"stream": stream, "mandelbrot": mandelbrot, "nbody": nbody, "heat": heat, "cg": cg}

func main() {
	if os.Getenv("HALYARD_BENCH_MPI") != "" {
		// As the program in C, this one does not end its work early. A wait whose context can end costs two wake-ups of threads.
		mpi.Run(func(ctx context.Context, e comm.Engine) error {
			return run(context.WithoutCancel(ctx), os.Args[1:], comm.New(e))
		})
	}
	if err := run(context.Background(), os.Args[1:], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, c *comm.Comm) (err error) {
	if len(args) < 8 || programs[args[0]] == nil || args[1] != "c" && (args[1] != "go" || args[0] != "heat" && args[0] != "cg") {
		return errors.New("usage: halyard PROGRAM c|go N STEPS REPEATS IN OUT DEVICE [DEVICE]")
	}
	j := job{inGo: args[1] == "go", in: args[5], out: args[6], comm: c}
	for i, to := range []*int{&j.n, &j.steps, &j.repeats} {
		if *to, err = strconv.Atoi(args[2+i]); err != nil {
			return err
		}
	}
	var made []io.Closer
	defer func() { err = errors.Join(err, hal.CloseAll(made...)) }()
	if c != nil {
		made = append(made, c)
	}
	for _, name := range args[7:] {
		dev, err := open(ctx, name)
		if err != nil {
			return err
		}
		made = append(made, dev)
		s, err := dev.NewStream()
		if err != nil {
			return err
		}
		made = append(made, s)
		j.streams = append(j.streams, s)
		say(map[string]any{"device": dev.Info().Driver})
	}
	return programs[args[0]](ctx, &j)
}

func open(ctx context.Context, name string) (*hal.Device, error) {
	if name == "host" {
		return hal.Open(ctx, "host:0")
	}
	infos, err := hal.Devices(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range infos {
		if i.Backend == "opencl" && strings.Contains(i.Driver, name) {
			return hal.Open(ctx, i.Name())
		}
	}
	return nil, hal.Errorf("apps", hal.ErrNotFound, "no OpenCL device of a platform with %q in its name", name)
}

func say(line any) {
	text, _ := json.Marshal(line) // maps of strings and numbers
	fmt.Println(string(text))
}

func sample(name string, since time.Time) {
	say(map[string]any{"case": name, "ns": time.Since(since).Nanoseconds()})
}

// root reports whether this process is the one that prints.
func (j *job) root() bool { return j.comm == nil || j.comm.Rank() == 0 }

// timed calls fn once without measuring it, and then j.repeats times.
func (j *job) timed(ctx context.Context, fn func() error) error {
	for run := range j.repeats + 1 {
		if err := j.together(ctx); err != nil {
			return err
		}
		start := time.Now()
		if err := errors.Join(fn(), j.together(ctx)); err != nil {
			return err
		}
		if run > 0 && j.root() {
			sample("run", start)
		}
	}
	return nil
}

func (j *job) together(ctx context.Context) error {
	if j.comm == nil {
		return nil
	}
	return j.comm.Barrier(ctx)
}

// input returns count elements of the input from an offset, in elements.
func input[T buffer.Element](j *job, offset, count int) ([]T, error) {
	data := make([]T, count)
	f, err := os.Open(j.in)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := binary.Size(data)
	return data, binary.Read(io.NewSectionReader(f, int64(offset*(size/max(count, 1))), int64(size)), binary.NativeEndian, data)
}

// output writes a part of the result from an offset, in elements.
func output[T buffer.Element](j *job, offset int, data []T) error {
	f, err := os.OpenFile(j.out, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	err = binary.Write(&b, binary.NativeEndian, data)
	if err == nil {
		_, err = f.WriteAt(b.Bytes(), int64(offset*(b.Len()/max(len(data), 1))))
	}
	return errors.Join(err, f.Close())
}
