//go:build opencl

package opencl_test

import (
	"context"
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
	"github.com/go-halyard/halyard/conformance"
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

// Processors are divided into parts that work side by side. The parts have the processors of the whole among them, and each all of its
// memory.
func TestPartsOfDevices(t *testing.T) {
	ctx := t.Context()
	whole, err := opencl.New(opencl.Options{}).Devices(ctx)
	if err != nil || len(whole) == 0 {
		if slices.Contains(strings.Split(os.Getenv("HALYARD_REQUIRE"), ","), "opencl") {
			t.Fatalf("required: %v, %d devices", err, len(whole))
		}
		t.Skipf("no OpenCL device: %v", err)
	}
	const n = 2
	b := opencl.New(opencl.Options{Parts: n})
	infos, err := b.Devices(ctx)
	if errors.Is(err, hal.ErrUnavailable) && strings.Contains(err.Error(), "is not divided into 2 parts") {
		t.Skipf("no device can be divided: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.Devices(ctx); err != nil || !slices.Equal(again, infos) {
		t.Errorf("listed again: %+v, %v; before: %+v", again, err, infos)
	}
	units := map[string]int{} // by name of the whole
	for _, d := range whole {
		units[d.Model] += d.Compute.Units
	}
	for i, d := range infos {
		of, part, _ := strings.Cut(strings.TrimSuffix(d.Model, " (simulated)"), " (part ")
		if d.Ordinal != i || !strings.HasPrefix(part, string(rune('1'+i%n))+" of 2") || d.UUID != (hal.UUID{}) {
			t.Errorf("device %d: %+v", i, d)
		}
		for _, w := range whole {
			if w.Model == of && (d.TotalMemory != w.TotalMemory || d.Compute.Units < w.Compute.Units/n) {
				t.Errorf("part: %+v\nwhole: %+v", d, w)
			}
		}
		units[of] -= d.Compute.Units
	}
	for of, left := range units {
		if undivided := strings.Contains(strings.Join(b.Problems(ctx), " "), of+" is not divided"); left != 0 && !undivided {
			t.Errorf("%d compute units of %s are in no part", left, of)
		}
	}

	x, err := buffer.From(make([]float32, 1000))
	if err != nil {
		t.Fatal(err)
	}
	var open []io.Closer
	t.Cleanup(func() {
		if err := hal.CloseAll(append(open, x)...); err != nil {
			t.Error(err)
		}
	})
	for i := range infos {
		d, err := hal.OpenWith(ctx, b, i)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, d)
		s, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		l, err := x.Acquire(ctx, s, coherence.ReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Region().Sub(4*uint64(i), 4)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Fill(r, hal.Pattern32(math.Float32bits(float32(i+1)))), l.Release(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]float32, 1000)
	if err := x.CopyOut(ctx, got); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if want := float32(0); i < len(infos) && v != float32(i+1) || i >= len(infos) && v != want {
			t.Fatalf("element %d is %v after %d parts have written one each", i, v, len(infos))
		}
	}
}

// A part keeps all rules that a device keeps, with another part as its peer.
func TestPartsKeepTheRules(t *testing.T) {
	b := opencl.New(opencl.Options{Parts: 2})
	infos, err := b.Devices(t.Context())
	if err != nil || len(infos) == 0 {
		t.Skipf("no device that can be divided: %v, %v", err, b.Problems(t.Context()))
	}
	open := func(i int) func(context.Context) (*hal.Device, error) {
		return func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, i) }
	}
	for i := 0; i < len(infos); i += 2 {
		t.Run(infos[i].Name(), func(t *testing.T) {
			conformance.Run(t, conformance.Harness{Open: open(i), Peer: open(i + 1), Backend: b, Short: true})
		})
	}
}
