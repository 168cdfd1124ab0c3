// Package atomics has kernels in Go whose threads all change the same few elements.
package atomics

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

// What the cells are for.
const (
	sum = iota
	least
	most
	tickets   // each thread takes the number that it finds, and leaves one that is larger by 1
	stored    // each thread stores its number,
	replaced  // and adds the one that it replaced
	exchanged // counts threads, by compare-and-exchange
	cells
)

// change does with the cells what thread i has to do.
func change[T grid.Number](i int, x, ticket, cell []T) {
	grid.AtomicAdd(&cell[sum], x[i])
	grid.AtomicMin(&cell[least], x[i])
	grid.AtomicMax(&cell[most], x[i])
	ticket[i] = grid.AtomicAdd(&cell[tickets], 1)
	grid.AtomicAdd(&cell[replaced], grid.AtomicExchange(&cell[stored], x[i]))
	was, is := T(0), T(1)
	for was != is {
		was = is
		is = grid.AtomicCompareExchange(&cell[exchanged], was, was+1)
	}
}

// changed has all threads change the same few elements.
//
//halyard:kernel float32 float64 int64 uint64 uint32
func changed[T grid.Number](t grid.Thread, x, ticket, cell []T) {
	if i := t.Global(0); i < len(x) {
		change(i, x, ticket, cell)
	}
}

// together changes memory that the threads of a block share.
func together[T grid.Number](v T, part *[4]T) {
	grid.AtomicAdd(&part[sum], v)
	grid.AtomicMin(&part[least], v)
	grid.AtomicMax(&part[most], v)
	grid.AtomicExchange(&part[3], 7)
}

// shared does so in memory that the threads of a block share.
//
//halyard:kernel float32 float64 int64
func shared[T grid.Number](t grid.Thread, x, cell []T) {
	part := grid.Shared[[4]T](t)
	if i := t.Global(0); i < len(x) {
		together(x[i], part)
	}
	t.Barrier()
	if t.Local(0) == 0 {
		grid.AtomicAdd(&cell[sum], part[sum])
		grid.AtomicMin(&cell[least], part[least])
		grid.AtomicMax(&cell[most], part[most])
		grid.AtomicExchange(&cell[3], part[3])
	}
}

// bits changes the bits of two cells of each width.
//
//halyard:kernel
func bits(t grid.Thread, x, none []uint64, signed []int64) {
	if i := t.Global(0); i < len(x) {
		grid.AtomicAnd(&none[0], ^x[i])
		grid.AtomicOr(&none[1], x[i])
		grid.AtomicXor(&none[2], x[i])
		grid.AtomicAnd(&signed[0], ^int64(x[i]))
		grid.AtomicOr(&signed[1], int64(x[i]))
		grid.AtomicXor(&signed[2], int64(x[i]))
	}
}

// special finds the least and the most of floats that may be NaN, 0 and -0.
//
//halyard:kernel
func special(t grid.Thread, x, cell []float32, y, wide []float64) {
	if i := t.Global(0); i < len(x) {
		grid.AtomicMin(&cell[0], x[i])
		grid.AtomicMax(&cell[1], x[i])
		grid.AtomicMin(&wide[0], y[i])
		grid.AtomicMax(&wide[1], y[i])
	}
}
