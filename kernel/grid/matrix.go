package grid

import (
	"fmt"
	"unsafe"
)

// Matrix is the type of a kernel's parameter for elements in rows and columns. A launch takes a
// [github.com/go-halyard/halyard/kernel.Matrix] for it:
//
//	//halyard:kernel
//	func smooth(t grid.Thread, from grid.Matrix[float32], to grid.OutMatrix[float32]) {
//		i, j := t.Global(1), t.Global(0)
//		if i >= to.Rows() || j >= to.Cols() {
//			return
//		}
//		to.Set(i, j, (from.At(i, max(j-1, 0))+from.At(i, j))/2)
//	}
//
//	Smooth(q, u.InRows(width), v.InRows(width))
//
// Neighbours in a row are neighbours in memory, so the column is the index that should come from t.Global(0).
type Matrix[T any] struct {
	first      *T // of rows*cols elements, row by row: with a slice the struct would take more registers in a kernel's loop
	rows, cols int
}

// MatrixOf returns elements as a matrix: row i begins at element i*cols. It is called by files that "halyard kernels" writes, and by tests
// of kernels.
func MatrixOf[T any](elements []T, rows, cols int) Matrix[T] {
	if rows < 0 || cols < 0 || len(elements) != rows*cols {
		panic(fmt.Sprintf("grid: %d elements are not %d rows of %d columns", len(elements), rows, cols))
	}
	return Matrix[T]{unsafe.SliceData(elements), rows, cols}
}

// Rows returns the number of rows.
func (m Matrix[T]) Rows() int { return m.rows }

// Cols returns the number of columns.
func (m Matrix[T]) Cols() int { return m.cols }

// Span returns the elements of n rows, from row i on, and none if the matrix does not have these rows. It is called by files that
// "halyard kernels" writes. It has no translation.
func (m Matrix[T]) Span(i, n int) []T {
	if i < 0 || n < 1 || i > m.rows-n {
		return nil
	}
	return unsafe.Slice(m.at(i, 0), n*m.cols)
}

// At returns the element in row i and column j. An index outside of the matrix fails the launch on the host, and on devices with
// HALYARD_CHECK=bounds. So it is with Set and Ref.
func (m Matrix[T]) At(i, j int) T {
	if uint(i) >= uint(m.rows) || uint(j) >= uint(m.cols) {
		panic(outside{i, j, m.rows, m.cols})
	}
	return *m.at(i, j)
}

// Set sets the element in row i and column j.
func (m Matrix[T]) Set(i, j int, v T) {
	if uint(i) >= uint(m.rows) || uint(j) >= uint(m.cols) {
		panic(outside{i, j, m.rows, m.cols})
	}
	*m.at(i, j) = v
}

// Ref returns the address of the element in row i and column j, for *m.Ref(i, j) += v, fields, methods and atomic functions.
func (m Matrix[T]) Ref(i, j int) *T {
	if uint(i) >= uint(m.rows) || uint(j) >= uint(m.cols) {
		panic(outside{i, j, m.rows, m.cols})
	}
	return m.at(i, j)
}

// at returns the address of an element that the matrix has.
func (m Matrix[T]) at(i, j int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(m.first), uintptr(i*m.cols+j)*unsafe.Sizeof(*m.first)))
}

// OutMatrix is a [Matrix] of which the kernel writes all elements and reads none, as [Out] is for slices.
type OutMatrix[T any] struct{ m Matrix[T] }

// OutMatrixOf is [MatrixOf] for an OutMatrix.
func OutMatrixOf[T any](elements []T, rows, cols int) OutMatrix[T] {
	return OutMatrix[T]{MatrixOf(elements, rows, cols)}
}

// Rows returns the number of rows.
func (m OutMatrix[T]) Rows() int { return m.m.rows }

// Cols returns the number of columns.
func (m OutMatrix[T]) Cols() int { return m.m.cols }

// Span is [Matrix.Span].
func (m OutMatrix[T]) Span(i, n int) []T { return m.m.Span(i, n) }

// Set sets the element in row i and column j.
func (m OutMatrix[T]) Set(i, j int, v T) { m.m.Set(i, j, v) }

// outside is the value of a panic: a call of a function would keep At and Set from being compiled into the kernel's loop.
type outside struct{ i, j, rows, cols int }

func (o outside) Error() string {
	return fmt.Sprintf("index %d, %d out of range with %d rows and %d columns", o.i, o.j, o.rows, o.cols)
}
