package main

// One run from file to file: it chooses the devices, and replaces the output file when the new one is complete.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

type options struct {
	budget uint64 // bytes of each device, 0 for all
	memory uint64 // bytes of host memory for panels
	verify bool
	out    io.Writer
}

// convert transposes one file into another. The output is written to a temporary file, which is renamed when it is complete.
func convert(ctx context.Context, inPath, outPath string, o options) (err error) {
	in, img, err := open(inPath)
	if err != nil {
		return err
	}
	defer in.Close()
	devices, err := devicesFor(ctx, img, o)
	if err != nil {
		return err
	}
	defer func() {
		for _, d := range devices {
			err = errors.Join(err, d.Close())
		}
	}()
	tmp, err := os.CreateTemp(filepath.Dir(outPath), ".downstream-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	before, begin := buffer.Totals(), time.Now()
	p, err := newPlan(img, devices, o)
	if err == nil {
		err = p.run(ctx, in, tmp)
	}
	took, moved := time.Since(begin), buffer.Totals().Sub(before)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if o.verify {
		if err := compare(inPath, tmp.Name()); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp.Name(), outPath); err != nil {
		return err
	}
	fmt.Fprintf(o.out, "%d by %d pixels, %d bytes, in %d passes of %d bands and %d panels of %d bytes: %v\n", img.width, img.height,
		img.bytes(), p.passes(), p.bands(), p.panels(), p.panelBytes(), took.Round(time.Millisecond))
	fmt.Fprintf(o.out, "%d copies between places, %d bytes\n", moved.Copies, moved.BytesCopied)
	for _, d := range devices {
		r := buffer.ResidencyOf(d)
		fmt.Fprintf(o.out, "%-10s %s: budget %d bytes, %d evictions, of which %d bytes had to be saved\n", d.Name(), d.Info().Model,
			r.Budget, r.Evictions, r.WrittenBack)
	}
	if o.verify {
		fmt.Fprintln(o.out, "compared with a transposition in memory: the same")
	}
	return nil
}

// devicesFor opens the devices to use: all that have enough memory, but the host only if there is no other. It prints why a
// device is left out. If none is left, the error is that of the last one.
func devicesFor(ctx context.Context, img image, o options) (kept []*hal.Device, err error) {
	all, err := hal.OpenAll(ctx)
	if err != nil {
		return nil, err
	}
	discrete := false
	for _, d := range all {
		discrete = discrete || !d.Info().SharesHostMemory
	}
	var last error
	for _, d := range all {
		err := fits(d, img, o)
		if err == nil && !(discrete && d.Info().Backend == "host" && d.Info().SharesHostMemory) {
			buffer.SetBudget(d, o.budget)
			kept = append(kept, d)
			continue
		}
		if err != nil {
			last = err
			fmt.Fprintln(o.out, "left out:", err)
		}
		if err := d.Close(); err != nil {
			last = err
		}
	}
	if len(kept) == 0 {
		return nil, errors.Join(last, errors.New("no device is left"))
	}
	return kept, nil
}

// allowance is how many bytes of a device may be used.
func allowance(d *hal.Device, o options) uint64 {
	n := d.Info().TotalMemory
	if o.budget > 0 {
		n = min(n, o.budget)
	}
	return n
}

// fits returns an error of kind hal.ErrOutOfMemory if a device has too little memory for the smallest bands and panels.
func fits(d *hal.Device, img image, o options) error {
	need, has := leastBytes(img), allowance(d, o)
	if one := max(need-2*uint64(img.row()), uint64(img.row())); need <= has && one <= d.Info().MaxAlloc {
		return nil
	}
	return &hal.Error{Op: "transpose", Backend: d.Info().Backend, Device: d.Info().Ordinal, Kind: hal.ErrOutOfMemory,
		Detail: fmt.Sprintf("%d by %d pixels need at least %d bytes on a device, and this one may use %d", img.width, img.height, need, has)}
}

// compare checks the result of a run in the simplest way.
func compare(inPath, outPath string) error {
	in, img, err := open(inPath)
	if err != nil {
		return err
	}
	defer in.Close()
	pixels := make([]byte, img.bytes())
	if _, err := in.ReadAt(pixels, img.data); err != nil {
		return err
	}
	got, err := os.ReadFile(outPath)
	if err != nil {
		return err
	}
	if want := append([]byte(img.transposed().header()), transpose(img, pixels)...); !bytes.Equal(got, want) {
		return errors.New("the result is not the transposed image")
	}
	return nil
}
