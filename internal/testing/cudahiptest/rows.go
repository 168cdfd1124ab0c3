package cudahiptest

import "github.com/go-halyard/halyard/internal/cudahip"

func init() {
	mutants = append(mutants,
		mutant{"swaps the pitches of two planes", func(a cudahip.API) cudahip.API { return swappedPitches{a} }},
		mutant{"leaves out the last row", func(a cudahip.API) cudahip.API { return rowShort{a} }},
		mutant{"copies rows on another stream", func(a cudahip.API) cudahip.API { return rowsElsewhere{a} }},
	)
}

type swappedPitches struct{ cudahip.API }

func (m swappedPitches) Copy2D(ctx cudahip.Context, r *cudahip.Rect, s uintptr) cudahip.Code {
	x := *r
	if r.DstAt != cudahip.OnHost && r.SrcAt != cudahip.OnHost { // only device memory, where the driver notices accesses out of bounds
		x.DstPitch, x.SrcPitch = r.SrcPitch, r.DstPitch
	}
	return m.API.Copy2D(ctx, &x, s)
}

type rowShort struct{ cudahip.API }

func (m rowShort) Copy2D(ctx cudahip.Context, r *cudahip.Rect, s uintptr) cudahip.Code {
	x := *r
	x.Rows--
	return m.API.Copy2D(ctx, &x, s)
}

type rowsElsewhere struct{ cudahip.API }

func (m rowsElsewhere) Copy2D(ctx cudahip.Context, r *cudahip.Rect, _ uintptr) cudahip.Code {
	return m.API.Copy2D(ctx, r, defaultStream)
}
