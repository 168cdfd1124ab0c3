package gridgen

import (
	"iter"
	"math"
	rtdebug "runtime/debug"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/debug"
)

// Row is the threads of a block that differ only in their place along the first dimension. A row runs as
// one plain loop, from First() up to but not including End:
//
//	for r := range gridgen.Rows(b) {
//		end := min(r.End, len(y))
//		for i := r.First(); i < end; i++ {
//			y[i] += a * x[i]
//		}
//	}
type Row struct {
	first, End int // places in the grid along the first dimension
	Y, Z       int // the place along the others
}

// First returns the place of the row's first thread. No place reaches math.MaxInt>>1, so the mask changes nothing. It tells the compiler
// that the places of the row are not negative. So an index that is such a place, and known to be below the length, needs no check.
func (r Row) First() int { return r.first & (math.MaxInt >> 1) }

// From returns the row from a place of it on.
func (r Row) From(place int) Row {
	r.first = place
	return r
}

// Until returns the row up to but not including a place of it.
func (r Row) Until(place int) Row {
	r.End = place
	return r
}

// Within returns the part of the range [from, to) of places for which offset + place is an index of a slice of n elements. The result is
// empty if its first number is not below its second. offset may be any number.
func Within(from, to, offset, n int) (int, int) {
	if offset <= -to || offset >= n {
		return to, to
	}
	return max(from, -offset), min(to, n-offset)
}

// Without returns the range [from, to) if place is not in it. Else it returns the part before or after place, whichever is larger.
func Without(from, to, place int) (int, int) {
	switch {
	case place < from || place >= to:
	case place-from < to-place:
		from = place + 1
	default:
		to = place
	}
	return from, to
}

// At returns at. Its second argument only shows the index that the kernel has. Where a kernel has x[i-1], a generated file has
// x2[gridgen.At(at, i-1)]: x2 is a part of x, and x2[at] is x[i-1].
func At(at, _ int) int { return at }

// long is how many threads a row has at most, because of [clearUpper].
const long = 1 << 12

// Rows returns an iterator over the rows of a block, one after the other; a long one comes in parts. It is for kernels without barriers and
// shared memory.
func Rows(b *hal.Block) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		var r Row
		for z, endZ := Starts(b, 2), Ends(b, 2); z < endZ; z++ {
			for y, endY := Starts(b, 1), Ends(b, 1); y < endY; y++ {
				r.Y, r.Z = y, z
				for x, end := Starts(b, 0), Ends(b, 0); x < end; x += long {
					r.first, r.End = x, min(x+long, end)
					clearUpper()
					if !yield(r) {
						return
					}
				}
			}
		}
	}
}

// covered says whether the program was built to count which statements run.
var covered = func() bool {
	info, ok := rtdebug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-cover" {
			return s.Value == "true"
		}
	}
	return false
}()

// Covered reports whether the program was built to count which statements run, as by go test -cover. Generated files then call a kernel's function for each thread, so that the statements of the kernel itself are counted.
func Covered() bool { return covered || debug.Printing }

// Starts returns the place of a block's first thread in the grid, along one dimension. No place reaches math.MaxInt>>1, so the mask changes
// nothing; it tells the compiler that places are not negative.
func Starts(b *hal.Block, dim int) int {
	return int(uint64(b.Index[dim])*uint64(b.Size[dim])) & (math.MaxInt >> 1)
}

// Ends returns the place after a block's last thread.
func Ends(b *hal.Block, dim int) int { return Starts(b, dim) + int(b.Size[dim]) }
