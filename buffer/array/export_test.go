package array

import (
	"context"
	"slices"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Order is the order of the elements of an array in memory.
type Order uint8

const (
	RowMajor Order = iota
	ColumnMajor
)

// NewIn and FromIn are New and From in either order.
func NewIn[T buffer.Element](order Order, shape ...int) (*Array[T], error) {
	n, err := count("New", shape)
	if err != nil {
		return nil, err
	}
	return FromIn(order, make([]T, n), shape...)
}

func FromIn[T buffer.Element](order Order, data []T, shape ...int) (*Array[T], error) {
	if order == RowMajor {
		return From(data, shape...)
	}
	shape = slices.Clone(shape)
	slices.Reverse(shape)
	a, err := From(data, shape...)
	if err == nil {
		a.at = a.at.reversed()
	}
	return a, err
}

// Order returns the order in which the array is contiguous, row-major if it is contiguous in both.
func (a *Array[T]) Order() (order Order, ok bool) {
	if a.IsContiguous(RowMajor) {
		return RowMajor, true
	}
	if a.IsContiguous(ColumnMajor) {
		return ColumnMajor, true
	}
	return RowMajor, false
}

// Full returns an array whose elements all have the value.
func Full[T buffer.Element](value T, shape ...int) (*Array[T], error) {
	a, err := New[T](shape...)
	if err != nil {
		return nil, err
	}
	return a, a.b.Fill(context.Background(), value)
}

// HoldAtMost sets how many ranges an access holds at once, until restore is called.
func HoldAtMost(n int) (restore func()) {
	old := maxRuns
	maxRuns = n
	return func() { maxRuns = old }
}

// Runs lists the unbroken ranges of the buffer that the array fills, as [lo, hi).
func (a *Array[T]) Runs() (list [][2]int) {
	for r := range a.at.runs() {
		list = append(list, [2]int{r.lo, r.hi})
	}
	return list
}

// Pieces lists at most limit ranges of the buffer that hold the array.
func (a *Array[T]) Pieces(limit int) (list [][2]int) {
	for _, r := range a.at.pieces(limit) {
		list = append(list, [2]int{r.lo, r.hi})
	}
	return list
}

// What tests ask of an array, and what they do with its buffer.

func (a *Array[T]) IsContiguous(order Order) bool {
	at := a.at
	if order == ColumnMajor {
		at = at.reversed()
	}
	return a.b != nil && at.contiguous()
}

func (a *Array[T]) State() buffer.State {
	if a.b == nil {
		return buffer.State{}
	}
	b, err := a.part(a.at.hull())
	if err != nil {
		return buffer.State{}
	}
	return b.State()
}

func (a *Array[T]) Stats() buffer.Stats {
	if a.b == nil {
		return buffer.Stats{}
	}
	return a.b.Stats()
}

func (a *Array[T]) TryAcquire(stream *hal.Stream, mode coherence.Mode) (buffer.Lease, error) {
	b, err := a.memory()
	if err != nil {
		return buffer.Lease{}, err
	}
	return b.TryAcquire(stream, mode)
}

func (a *Array[T]) Acquire(ctx context.Context, stream *hal.Stream, mode coherence.Mode) (buffer.Lease, error) {
	b, err := a.memory()
	if err != nil {
		return buffer.Lease{}, err
	}
	return b.Acquire(ctx, stream, mode)
}

// memory returns the elements of an array that is contiguous in either order, in the order of memory.
func (a *Array[T]) memory() (*buffer.Buffer[T], error) {
	if _, ok := a.Order(); !ok {
		return a.Buffer()
	}
	b, _, err := a.Bounds()
	return b, err
}

// Memory is for tests outside this package.
func (a *Array[T]) Memory() (*buffer.Buffer[T], error) { return a.memory() }
