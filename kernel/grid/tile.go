package grid

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Edge is what [LoadTile] takes for elements beyond the edges of a matrix.
type Edge uint8

// The edges.
const (
	EdgeZero  Edge = iota // zero
	EdgeClamp             // the nearest element of the matrix
	EdgeWrap              // the element on the opposite side, as if the matrix were repeated
)

// LoadTile copies a part of a matrix into memory that the threads of a block share: tile[0][0] becomes the element in the given row and
// column. The part is as large as the tile. For a halo of h elements the tile has 2*h rows and columns more than the block, and begins h rows
// and columns before it:
//
//	tile := grid.Shared[[18][18]float32](t) // for a block of 16×16 threads
//	grid.LoadTile(t, tile[:], m, 16*t.Block(1)-1, 16*t.Block(0)-1, grid.EdgeClamp)
//
// The tile is s[:] of an array of arrays from [Shared], or a slice of arrays from [SharedSlice]. Its arrays have elements of the matrix's
// type, the row and the column are the same for all threads of the block, and the edge is a constant.
//
// All threads of a block must come to the same call, as to [Thread.Barrier], and the call is a statement of its own. It begins when all
// threads have come, and when it returns the whole tile is there. So no barrier is needed around it.
func LoadTile[Row, T any](t Thread, tile []Row, m Matrix[T], row, col int, edge Edge) {
	each(t, tile, reflect.TypeFor[T](), func(i, j int, at unsafe.Pointer) {
		var v T
		if i, j = edge.place(row+i, m.rows), edge.place(col+j, m.cols); i >= 0 && j >= 0 {
			v = m.At(i, j)
		}
		*(*T)(at) = v
	})
}

// StoreTile copies a tile into a matrix, as [LoadTile] copies it out of one, apart from a halo on each side, and from what is beyond the
// edges of the matrix. The halo is a constant.
func StoreTile[Row, T any, M interface {
	Rows() int
	Cols() int
	Set(i, j int, v T)
}](t Thread, tile []Row, m M, row, col, halo int) {
	width := reflect.TypeFor[Row]().Len()
	each(t, tile, reflect.TypeFor[T](), func(i, j int, at unsafe.Pointer) {
		if i >= halo && i < len(tile)-halo && j >= halo && j < width-halo && uint(row+i) < uint(m.Rows()) && uint(col+j) < uint(m.Cols()) {
			m.Set(row+i, col+j, *(*T)(at))
		}
	})
}

// each calls f for the elements of a tile that are the thread's, when all threads of the block have come, and then waits for the others.
func each[Row any](t Thread, tile []Row, elem reflect.Type, f func(i, j int, at unsafe.Pointer)) {
	const name = "github.com/go-halyard/halyard/kernel/grid."
	if t.in.own == nil {
		panic("grid: a kernel that loads or stores tiles needs RunTogether")
	}
	row := reflect.TypeFor[Row]()
	if row.Kind() != reflect.Array || row.Elem() != elem {
		panic(fmt.Sprintf("grid: a tile of %v for a matrix of %v", row, elem))
	}
	t.in.own.wait(name+"LoadTile", name+"StoreTile", name+"each")
	for i := t.Local(2)*t.Size(1) + t.Local(1); i < len(tile); i += t.Size(1) * t.Size(2) {
		for j := t.Local(0); j < row.Len(); j += t.Size(0) {
			f(i, j, unsafe.Add(unsafe.Pointer(&tile[i]), uintptr(j)*elem.Size()))
		}
	}
	t.in.own.wait(name+"LoadTile", name+"StoreTile", name+"each")
}

// LoadTileOf is [LoadTile] for all threads of a block. Files that "halyard kernels" writes call it.
func LoadTileOf[Row, T any](tile []Row, m Matrix[T], row, col int, edge Edge) {
	for i := range tile {
		to, r := rowOf[T](&tile[i]), edge.place(row+i, m.rows)
		for j := 0; j < len(to); {
			c := edge.place(col+j, m.cols)
			if r < 0 || c < 0 {
				clear(to[j : j+1])
				j++
				continue
			}
			m.Ref(r, c) // it is there
			n := 1
			if c == col+j {
				n = min(len(to)-j, m.cols-c)
			}
			copy(to[j:j+n], unsafe.Slice(m.at(r, c), n))
			j += n
		}
	}
}

// StoreTileOf is [StoreTile] for all threads of a block. Files that "halyard kernels" writes call it.
func StoreTileOf[Row, T any, M interface {
	Set(i, j int, v T)
	Span(i, n int) []T
}](tile []Row, m M, row, col, halo int) {
	for i := halo; i < len(tile)-halo; i++ {
		if to := m.Span(row+i, 1); to != nil {
			from := rowOf[T](&tile[i])
			for j := halo; j < len(from)-halo; j++ {
				if uint(col+j) < uint(len(to)) {
					to[col+j] = from[j]
				}
			}
		}
	}
}

// rowOf returns the elements of a row of a tile.
func rowOf[T, Row any](row *Row) []T {
	var v T
	return unsafe.Slice((*T)(unsafe.Pointer(row)), unsafe.Sizeof(*row)/unsafe.Sizeof(v))
}

// place returns the index, of n, that an edge takes for i, or -1 for zero.
func (e Edge) place(i, n int) int {
	switch {
	case e == EdgeClamp:
		return max(min(i, n-1), 0)
	case e == EdgeWrap:
		n = max(n, 1) // a matrix without elements has no element 0, as Matrix.Ref says
		return (i%n + n) % n
	case uint(i) >= uint(n):
		return -1
	}
	return i
}
