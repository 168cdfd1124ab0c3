package conformance

import (
	"slices"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/model"
)

// simplifications is how many programs are tried to find a shorter one that fails.
const simplifications = 200

func seededModel(t *trial) {
	f := model.Fleet{Devices: t.company()[1:]}
	if slices.ContainsFunc(f.Devices, func(d *hal.Device) bool { return !d.Caps().Has(hal.CapGate) }) {
		f.Devices = f.Devices[:1] // copies between devices would have to be waited for, and the model has operations that do not wait
	}
	for _, d := range f.Devices {
		f.Streams = append(f.Streams, []*hal.Stream{t.stream(d), t.stream(d)})
	}
	for _, n := range []int{1, 257, 4096} {
		p := model.Generate(func(label string, lo, hi int) int {
			if label == "elements" || label == "operations" {
				return hi
			}
			return lo + t.rng.IntN(hi-lo+1)
		}, f, n, t.Size(300, 80))
		err := model.Run[byte](t.ctx, f, p)
		if err == nil {
			continue
		}
		t.Errorf("%d operations on %d bytes: %v", len(p.Operations), n, err)
		p = model.Simplify(p, simplifications, func(p model.Program) bool { return t.ctx.Err() == nil && model.Run[byte](t.ctx, f, p) != nil })
		t.Logf("fewer that fail, of place 0, the host, and places 1 to %d, the devices:\n%s", len(f.Devices), p)
		return
	}
}
