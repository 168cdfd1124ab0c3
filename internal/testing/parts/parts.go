// Package parts has kernels that take parts of slices and arrays: decompositions of matrices into triangles, with loops over rows.
package parts

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

// subtract subtracts a multiple of a row from another row.
func subtract(row, other []float32, times float32) {
	for j, v := range other {
		row[j] -= float32(times * v)
	}
}

// eliminate is step k of the decomposition of a matrix with n rows and columns: a thread takes a row below row k.
//
//halyard:kernel
func eliminate(t grid.Thread, n, k int, a []float32) {
	i := k + 1 + t.Global(0)
	if i >= n {
		return
	}
	row, pivot := a[i*n:(i+1)*n], a[k*n:(k+1)*n]
	row[k] /= pivot[k]
	subtract(row[k+1:], pivot[k+1:], row[k])
}

// small decomposes many matrices with 4 rows and columns, one for each thread.
//
//halyard:kernel
func small(t grid.Thread, a []float32) {
	i := t.Global(0)
	if i >= len(a)/16 {
		return
	}
	var own [16]float32
	copy(own[:], a[16*i:16*i+16])
	for k := range 4 {
		for r := k + 1; r < 4; r++ {
			row := own[4*r : 4*r+4]
			row[k] /= own[4*k+k]
			subtract(row[k+1:], own[4*k+k+1:4*k+4], row[k])
		}
	}
	copy(a[16*i:16*i+16], own[:])
}

// turn moves the elements of each row by one, and adds the row of the next thread of the block.
//
//halyard:kernel
func turn(t grid.Thread, a []float32) {
	s := grid.Shared[[64]float32](t)
	l := t.Local(0)
	mine, next := s[4*l:4*l+4], s[(l+1)%t.Size(0)*4:][:4]
	row := a[4*t.Global(0):][:4]
	copy(mine, row)
	t.Barrier()
	first := row[0]
	copy(row, row[1:])
	row[3] = first
	subtract(row, next, -1)
	t.Barrier()
	clear(mine[1:3])
	t.Barrier()
	row[1] += next[1] + next[3]
}

// keep changes an array of the thread between barriers, by a part of it, and an array that is passed.
//
//halyard:kernel
func keep(t grid.Thread, a []float32) {
	s := grid.Shared[[16]float32](t)
	l, i := t.Local(0), t.Global(0)
	var own [4]float32
	copy(own[:], a[4*i:4*i+4])
	s[l] = own[0]
	t.Barrier()
	clear(own[1:3])
	next := s[(l+1)%t.Size(0)]
	t.Barrier()
	own[0] += next
	copy(a[4*i:4*i+4], own[:])
}

// fade multiplies by numbers that are 0 for each fourth thread.
//
//halyard:kernel
func fade(t grid.Thread, by [4]float32, a []float32) {
	i := t.Global(0)
	if i >= len(a)/4 {
		return
	}
	if i%4 == 0 {
		clear(by[1:])
	}
	for j := range by {
		a[4*i+j] *= by[j]
	}
}
