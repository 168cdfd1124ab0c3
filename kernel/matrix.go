package kernel

import (
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Matrix is what a launcher takes for a grid.Matrix[T] or a grid.OutMatrix[T] of the kernel: elements as rows and columns, row by row. A
// *halyard.Matrix[T] is one; [InRows] makes one of other vectors. Its length is the product of rows and columns.
type Matrix[T any] interface {
	Vector[T]
	Rows() int
	Cols() int
}

// InRows returns a view of x as rows of cols elements. If the length of x is not a multiple of cols, launches with the result are refused.
// For an array a of package array write InRows(a, a.Shape()[1]).
func InRows[T any](x Vector[T], cols int) Matrix[T] { return &inRows[T]{x, cols} }

type inRows[T any] struct {
	Vector[T]
	cols int
}

func (m *inRows[T]) Len() int  { return Len(m.Vector) }
func (m *inRows[T]) Cols() int { return m.cols }
func (m *inRows[T]) Rows() int { return m.Len() / max(m.cols, 1) }

func (m *inRows[T]) Want(mode coherence.Mode) buffer.Want {
	if m.Vector == nil {
		return buffer.Want{}
	}
	return m.Vector.Want(mode)
}

// Elements returns what a launch passes for the elements of m: m itself, or, if these are not as many as rows and columns say, an operand
// that fails with an error of kind hal.ErrInvalidArgument. Generated launchers call it.
func Elements[T any](m Matrix[T]) Operand {
	if m == nil {
		return nil
	}
	if n, rows, cols := m.Len(), m.Rows(), m.Cols(); rows < 0 || cols < 0 || rows*cols != n {
		return refused{hal.Errorf("launch", hal.ErrInvalidArgument, "%d elements are not whole rows of %d columns", n, cols)}
	}
	return m
}
