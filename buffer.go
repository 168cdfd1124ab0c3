package halyard

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// Buffer is a sequence of elements that the host and the queue's device share: whoever reads it sees what was written last. Calls on it go
// to the queue's stream in their order; those that return elements to the host wait for the work that writes them. Close frees the buffer,
// and so does closing its queue, or the garbage collector when the program can no longer reach it.
//
// Kernels and copies on other queues may use the buffer, too. It then has memory on the device of such a queue, which stays when that
// queue is closed, and is freed with the buffer.
//
// On a nil or zero Buffer calls do nothing. A launch or a CopyFrom with one as its argument fails.
type Buffer[T buffer.Element] struct {
	q   *core
	b   *buffer.Buffer[T] // nil after an error
	n   int
	own *owner
}

// owner is referred to by a buffer and its slices. When it is unreachable the buffer is closed.
type owner struct {
	id      uint64
	cleanup runtime.Cleanup
}

// New makes a buffer of n elements that are zero. It is an error of kind hal.ErrInvalidArgument if n is negative, or if buffers cannot have
// elements of the type: see [buffer.Element].
func New[T buffer.Element](q *Queue, n int, opts ...buffer.Option) *Buffer[T] {
	return made(q, "New", n, func() (*buffer.Buffer[T], error) { return buffer.New[T](n, opts...) })
}

// From makes a buffer with a copy of data.
func From[T buffer.Element](q *Queue, data []T, opts ...buffer.Option) *Buffer[T] {
	return made(q, "From", len(data), func() (*buffer.Buffer[T], error) { return buffer.From(data, opts...) })
}

func made[T buffer.Element](q *Queue, op string, n int, make func() (*buffer.Buffer[T], error)) *Buffer[T] {
	x := &Buffer[T]{n: max(n, 0)}
	x.q = q.core()
	if !x.q.begin(op) {
		return x
	}
	defer x.q.end()
	b, err := make()
	if err != nil {
		x.q.keep(err)
		if errors.Is(err, hal.ErrOutOfRange) {
			x.n = 0 // there are too many elements for Values to return
		}
		return x
	}
	x.b, x.own = b, &owner{id: x.q.add(b)}
	x.own.cleanup = runtime.AddCleanup(x.own, x.q.lost, x.own.id)
	return x
}

// begin reports whether a call of a method does something. If so, end has to follow.
func (x *Buffer[T]) begin(op string) bool {
	if x == nil || !x.q.begin(op) {
		return false
	}
	if x.b == nil {
		x.q.end()
		return false
	}
	return true
}

func (x *Buffer[T]) end() {
	x.q.end()
	runtime.KeepAlive(x) // or the buffer could be closed during this call, if nothing else refers to it
}

// Len is the number of elements.
func (x *Buffer[T]) Len() int {
	if x == nil {
		return 0
	}
	return x.n
}

// Values waits for the work that writes the elements, and returns a copy of them. After an error they are zeros.
func (x *Buffer[T]) Values() []T {
	values, _ := x.values("Values")
	return values
}

func (x *Buffer[T]) values(op string) (values []T, ok bool) {
	values = make([]T, x.Len())
	if x.begin(op) {
		defer x.end()
		if ok = !x.q.keep(layer.Called(op, x.b.CopyOut(x.q.ctx, values))); !ok {
			clear(values)
		}
	}
	return values, ok
}

// At returns element i, and the zero value after an error. It waits for the work that writes it. An i outside of the buffer is an error of
// kind hal.ErrOutOfRange, as it is for Set.
func (x *Buffer[T]) At(i int) (v T) {
	if x.begin("At") {
		defer x.end()
		got, err := x.b.At(x.q.ctx, i)
		if !x.q.keep(err) {
			v = got
		}
	}
	return v
}

// Set sets element i. It waits for the work that uses it.
func (x *Buffer[T]) Set(i int, v T) {
	if x.begin("Set") {
		defer x.end()
		x.q.keep(x.b.Set(x.q.ctx, i, v))
	}
}

// SetValues copies data, which must have the buffer's length, into the buffer. It waits for the work that uses the elements.
func (x *Buffer[T]) SetValues(data []T) {
	const op = "SetValues"
	if x.begin(op) {
		defer x.end()
		x.q.keep(layer.Called(op, x.b.CopyIn(x.q.ctx, data)))
	}
}

// Fill sets all elements, in the queue's order. It waits for View and Update of other goroutines, not for the fill.
func (x *Buffer[T]) Fill(v T) {
	const op = "Fill"
	if x.begin(op) {
		defer x.end()
		x.q.keep(layer.Called(op, x.b.FillOn(x.q.ctx, x.q.stream, v)))
	}
}

// CopyFrom copies the elements of src, which must have the same length: see [buffer.Buffer.CopyFrom].
func (x *Buffer[T]) CopyFrom(src *Buffer[T]) {
	const op = "CopyFrom"
	if !x.begin(op) {
		return
	}
	defer x.end()
	if err := src.missing(op); err != nil {
		x.q.keep(err)
		return
	}
	x.q.keep(x.b.CopyFrom(x.q.ctx, src.b))
	runtime.KeepAlive(src)
}

// View waits for the work that writes the elements, and runs fn on them. fn must not change the slice and must not keep it. fn must not
// call what writes the buffer: that would wait for fn itself, until the queue's context ends.
func (x *Buffer[T]) View(fn func([]T)) {
	if x.begin("View") {
		defer x.end()
		x.q.keep(x.b.View(x.q.ctx, returning(fn)))
	}
}

// Update waits for the work that uses the elements, and runs fn on them. fn may change the slice and must not keep it. Other calls on the
// buffer, and launches that use it, wait for fn, so fn itself must not make them.
func (x *Buffer[T]) Update(fn func([]T)) {
	if x.begin("Update") {
		defer x.end()
		x.q.keep(x.b.Update(x.q.ctx, returning(fn)))
	}
}

// returning gives fn the result that package buffer wants.
func returning[T any](fn func([]T)) func([]T) error {
	if fn == nil {
		return nil // which package buffer refuses
	}
	return func(s []T) error { fn(s); return nil }
}

// View2 is View of two buffers at once.
//
//go:noinline
func View2[T, U buffer.Element](x *Buffer[T], y *Buffer[U], fn func([]T, []U)) {
	if fn == nil {
		x.View(nil) // which refuses it
		return
	}
	// Were this inlined, its functions would have the caller's name, and site would take them for the program's.
	x.View(func(s []T) { y.View(func(t []U) { fn(s, t) }) })
}

// Slice returns a view of the elements [i, j) of x: nothing is copied, and what is written to one is read from the other. It is an error of
// kind hal.ErrOutOfRange if x does not have these elements.
func (x *Buffer[T]) Slice(i, j int) *Buffer[T] {
	part := &Buffer[T]{}
	if x == nil {
		return part
	}
	part.q, part.own = x.q, x.own
	if 0 <= i && i <= j && j <= x.n {
		part.n = j - i
	}
	if x.begin("Slice") {
		defer x.end()
		b, err := x.b.Slice(i, j)
		if !x.q.keep(err) {
			part.b = b
		}
	}
	return part
}

// Matrix is a buffer seen as rows and columns, row after row: what a launcher takes for a grid.Matrix or a grid.OutMatrix of the kernel.
// Calls on a nil Matrix do what they do on a nil Buffer.
type Matrix[T buffer.Element] struct {
	*Buffer[T]
	cols int
}

// InRows returns a view of x as rows of cols elements. The length of x must be a multiple of cols.
func (x *Buffer[T]) InRows(cols int) *Matrix[T] {
	if x.begin("InRows") {
		if cols <= 0 || x.n%cols != 0 {
			x.q.keep(hal.Errorf("InRows", hal.ErrInvalidArgument, "%d elements are not whole rows of %d columns", x.n, cols))
		}
		x.end()
	}
	return &Matrix[T]{x, max(cols, 0)}
}

// Rows is the number of rows.
func (m *Matrix[T]) Rows() int { return m.Len() / max(m.Cols(), 1) }

// Cols is the number of columns.
func (m *Matrix[T]) Cols() int {
	if m == nil {
		return 0
	}
	return m.cols
}

// Len is the number of elements.
func (m *Matrix[T]) Len() int {
	if m == nil {
		return 0
	}
	return m.Buffer.Len()
}

// Want makes the matrix an argument of kernels, as that of a buffer does.
func (m *Matrix[T]) Want(mode coherence.Mode) buffer.Want {
	if m == nil {
		return (*Buffer[T])(nil).Want(mode)
	}
	return m.Buffer.Want(mode)
}

// Element returns the zero value of the element type.
func (m *Matrix[T]) Element() (zero T) { return zero }

// As returns a view of the bytes of x as elements of another type: see [buffer.Reinterpret]. It is an error of kind hal.ErrInvalidArgument if
// the bytes are no whole number of these elements.
func As[U, T buffer.Element](x *Buffer[T]) *Buffer[U] {
	y := &Buffer[U]{}
	if x == nil {
		return y
	}
	y.q, y.own = x.q, x.own
	var t T
	var u U
	if size := int(unsafe.Sizeof(u)); size > 0 {
		y.n = x.n * int(unsafe.Sizeof(t)) / size
	}
	const op = "As"
	if x.begin(op) {
		defer x.end()
		b, err := buffer.Reinterpret[U](x.b)
		if !x.q.keep(layer.Called(op, err)) {
			y.b = b
		}
	}
	return y
}

// Close frees the buffer when the work that uses it has ended. It does not wait. A slice is closed with its buffer, and closing it is an
// error.
func (x *Buffer[T]) Close() {
	if !x.begin("Close") {
		return
	}
	defer x.end()
	if err := x.b.Close(); x.q.keep(err) && err != nil {
		return
	}
	x.own.cleanup.Stop()
	x.q.remove(x.own.id)
}

// Buffer returns the coherent buffer below, nil after an error. It belongs to the queue, and stays valid while x is reachable.
func (x *Buffer[T]) Buffer() *buffer.Buffer[T] {
	if x == nil {
		return nil
	}
	return x.b
}

// Element returns the zero value of the element type.
func (x *Buffer[T]) Element() (zero T) { return zero }

// Want makes the buffer an argument of kernels: see [github.com/go-halyard/halyard/kernel.Operand].
func (x *Buffer[T]) Want(mode coherence.Mode) buffer.Want {
	if err := x.missing("Want"); err != nil {
		return buffer.NoWant(err)
	}
	return x.b.Want(mode)
}

// missing returns an error if the buffer has no elements to give: it is nil, or the error of its queue came before it was made.
func (x *Buffer[T]) missing(op string) error {
	switch {
	case x == nil || x.q == nil:
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil or zero buffer")
	case x.b == nil:
		return &hal.Error{Op: op, Device: -1, Kind: hal.ErrInvalidArgument, Detail: "the queue of the buffer has failed", Err: x.q.first.said()}
	}
	return nil
}

// shown is the most elements that String shows.
const shown = 16

// String shows the elements, as fmt.Println shows a slice, or the first 16 of them and how many more there are. It waits as Values does.
// After an error it shows the error in place of the elements.
func (x *Buffer[T]) String() string {
	n := x.Len()
	part := x
	if n > shown {
		part = x.Slice(0, shown)
	}
	values, ok := part.values("String")
	switch {
	case !ok && x != nil && x.q != nil:
		return fmt.Sprintf("[no elements: %v]", x.q.first.said())
	case n <= shown:
		return fmt.Sprint(values)
	}
	return fmt.Sprintf("%s ... %d more]", strings.TrimSuffix(fmt.Sprint(values), "]"), n-shown)
}
