package gputest

import "github.com/go-halyard/halyard/internal/gpu"

func init() {
	mutants = append(mutants,
		mutant{"swaps the pitches of two planes", func(a gpu.API) gpu.API { return swappedPitches{a} }},
		mutant{"leaves out the last row", func(a gpu.API) gpu.API { return rowShort{a} }},
		mutant{"copies rows on another stream", func(a gpu.API) gpu.API { return rowsElsewhere{a} }},
	)
}

type swappedPitches struct{ gpu.API }

func (m swappedPitches) Copy2D(ctx gpu.Context, r *gpu.Rect, s uintptr) gpu.Code {
	x := *r
	if r.DstAt != gpu.OnHost && r.SrcAt != gpu.OnHost { // where the driver notices what goes too far
		x.DstPitch, x.SrcPitch = r.SrcPitch, r.DstPitch
	}
	return m.API.Copy2D(ctx, &x, s)
}

type rowShort struct{ gpu.API }

func (m rowShort) Copy2D(ctx gpu.Context, r *gpu.Rect, s uintptr) gpu.Code {
	x := *r
	x.Rows--
	return m.API.Copy2D(ctx, &x, s)
}

type rowsElsewhere struct{ gpu.API }

func (m rowsElsewhere) Copy2D(ctx gpu.Context, r *gpu.Rect, _ uintptr) gpu.Code {
	return m.API.Copy2D(ctx, r, defaultStream)
}
