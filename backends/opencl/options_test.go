//go:build opencl

package opencl_test

import (
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/backends/opencl"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// A program opens devices in tiers of its choice, one device in several at once, whatever the environment says.
func TestTierOfOneDevice(t *testing.T) {
	t.Setenv("HALYARD_OPENCL_MEMORY", "usm")
	ctx := t.Context()
	infos, err := opencl.New(opencl.Options{Memory: "buffer"}).Devices(ctx)
	if err != nil || len(infos) == 0 {
		if slices.Contains(strings.Split(os.Getenv("HALYARD_REQUIRE"), ","), "opencl") {
			t.Fatalf("required: %v, %d devices", err, len(infos))
		}
		t.Skipf("no OpenCL device: %v", err)
	}
	x, err := buffer.From([]float32{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	var open []io.Closer
	t.Cleanup(func() {
		if err := hal.CloseAll(append(open, x)...); err != nil {
			t.Error(err)
		}
	})
	for _, tier := range []string{"buffer", "svm-coarse"} {
		d, err := hal.OpenWith(ctx, opencl.New(opencl.Options{Memory: tier}), 0)
		if errors.Is(err, hal.ErrUnsupported) && tier != "buffer" {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, d)
		again, err := hal.OpenWith(ctx, opencl.New(opencl.Options{Memory: tier}), 0)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, again)
		if d.Info().MemoryModel != tier || d.Caps().Has(hal.CapAddress) != (tier != "buffer") || !d.Same(again) {
			t.Errorf("asked for %s: %+v", tier, d.Info())
		}
		s, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		l, err := x.Acquire(ctx, s, coherence.Overwrite)
		if err != nil {
			t.Fatal(err)
		}
		want := float32(len(open))
		if err := errors.Join(s.Fill(l.Region(), hal.Pattern32(math.Float32bits(want))), l.Release(), s.Close()); err != nil {
			t.Fatal(err)
		}
		got := make([]float32, 2)
		if err := x.CopyOut(ctx, got); err != nil || got[0] != want || got[1] != want {
			t.Errorf("%s: %v, %v", tier, got, err)
		}
	}
}
