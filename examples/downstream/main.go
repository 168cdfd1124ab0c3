// The program downstream transposes an image that may be larger than the memory of any device: each row of pixels becomes
// a column. It is a module of its own, and uses the packages of Halyard that any program would: hal, buffer and backends.
//
//	downstream [flags] INPUT OUTPUT    transpose a binary PGM or PPM file
//	downstream -sample 4096x3000 FILE  write such a file
//	downstream                         show it on a sample of its own
//
// The last is, from a clone: cd examples/downstream && GOWORK=off go run -tags "cuda opencl hip vulkan" .
//
// It uses all devices of the machine, but the host only if there is no other; HALYARD_DEVICES restricts them.
//
// Read plan.go first: it has the buffers. main.go reads the command line, convert.go opens devices and files, image.go knows the format of
// the files, and writer.go writes them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/hal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "downstream:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong usage")

func run(ctx context.Context, args []string, out, messages io.Writer) error {
	flags := flag.NewFlagSet("downstream", flag.ContinueOnError)
	flags.SetOutput(messages)
	budget := size(0)
	memory := size(256 << 20)
	flags.Var(&budget, "budget", "`bytes` of each device to use, with K, M or G after the number (0: all)")
	flags.Var(&memory, "memory", "`bytes` of host memory to use for results; with less the input is read more often")
	verify := flags.Bool("verify", false, "compare with a transposition in memory")
	sample := flags.String("sample", "", "write a sample of `WIDTHxHEIGHT` pixels to FILE, and do nothing else")
	flags.Usage = func() {
		fmt.Fprintln(messages, "usage: downstream [flags] INPUT OUTPUT")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage // package flag has printed what is wrong
	}
	o := options{budget: uint64(budget), memory: uint64(memory), verify: *verify, out: out}
	switch files := flags.Args(); {
	case *sample != "" && len(files) == 1:
		return writeSample(*sample, files[0])
	case *sample == "" && len(files) == 2:
		return convert(ctx, files[0], files[1], o)
	case *sample == "" && len(files) == 0:
		return demonstrate(ctx, o)
	}
	flags.Usage()
	return errUsage
}

// demonstrate transposes a sample that is larger than the memory that it allows each device, and checks the result. If there
// is no device but the host, it makes the host backend add two with memory of their own.
func demonstrate(ctx context.Context, o options) error {
	if infos, err := hal.Devices(ctx); err == nil && len(infos) == 1 && os.Getenv("HALYARD_HOST_DEVICES") == "" {
		if err := os.Setenv("HALYARD_HOST_DEVICES", "2"); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "downstream-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "sample.ppm"), filepath.Join(dir, "transposed.ppm")
	if err := writeSample("1500x1100", in); err != nil {
		return err
	}
	if o.budget == 0 {
		o.budget = 1 << 20
	}
	o.memory = min(o.memory, 3<<20)
	o.verify = true
	return convert(ctx, in, out, o)
}

func writeSample(dimensions, path string) error {
	w, h, ok := strings.Cut(dimensions, "x")
	width, errW := strconv.Atoi(w)
	height, errH := strconv.Atoi(h)
	if !ok || errW != nil || errH != nil || width < 1 || height < 1 {
		return fmt.Errorf("%q is not WIDTHxHEIGHT, two numbers", dimensions)
	}
	img := image{width: width, height: height, channels: 3, limit: 255}
	if strings.EqualFold(filepath.Ext(path), ".pgm") {
		img.channels = 1
	}
	return img.draw(path)
}

// size is a number of bytes as a flag.
type size uint64

func (s *size) String() string { return strconv.FormatUint(uint64(*s), 10) }

func (s *size) Set(text string) error {
	shift := 0
	switch number, unit := text[:max(len(text)-1, 0)], text[max(len(text)-1, 0):]; strings.ToUpper(unit) {
	case "K":
		text, shift = number, 10
	case "M":
		text, shift = number, 20
	case "G":
		text, shift = number, 30
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return errors.New("not a number of bytes")
	}
	if n > math.MaxInt64>>shift {
		return errors.New("too many bytes")
	}
	*s = size(n << shift)
	return nil
}
