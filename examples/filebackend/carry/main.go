// The program carry lists the devices of the machine, and takes a buffer from the host to the memory of the first device of the
// file backend, which is a file, and back.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	_ "github.com/go-halyard/halyard/examples/filebackend"
	"github.com/go-halyard/halyard/hal"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "carry:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	infos, err := hal.Devices(ctx)
	if err != nil {
		return err
	}
	for _, info := range infos {
		fmt.Fprintf(out, "%-8s %s, %d MiB\n", info.Name(), info.Model, info.TotalMemory>>20)
	}
	dev, err := hal.Open(ctx, "file")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	stream, err := dev.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()

	cargo := make([]int64, 1<<20)
	for i := range cargo {
		cargo[i] = int64(i) * int64(i)
	}
	x, err := buffer.From(cargo)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()

	// To the file, where the first element is changed, so that the file alone is current.
	lease, err := x.TryAcquire(stream, coherence.ReadWrite)
	if err != nil {
		return err
	}
	first, err := lease.Region().Sub(0, 8)
	if err != nil {
		return err
	}
	if err := errors.Join(stream.Fill(first, hal.Pattern64(42)), lease.Release()); err != nil {
		return err
	}
	cargo[0] = 42
	// And back.
	err = x.View(ctx, func(got []int64) error {
		if !slices.Equal(got, cargo) {
			return errors.New("the buffer came back changed")
		}
		return nil
	})
	if err != nil {
		return err
	}
	s := x.Stats()
	fmt.Fprintf(out, "%d bytes went to %s and came back: %d copies, %d bytes\n", x.Size(), dev.Name(), s.Copies, s.BytesCopied)
	return nil
}
