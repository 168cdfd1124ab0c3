package encode

import (
	"context"
	"io"
	"reflect"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/layout"
)

// Bytes presents a buffer, or a slice of a buffer, as the bytes of its elements in this machine's byte order, through
// interfaces of the standard library. Each method makes one or more accesses on the host, and waits as
// [buffer.Buffer.View] and [buffer.Buffer.Update] do.
//
// It is safe for concurrent use. The zero Bytes has no buffer, and its methods fail with ErrInvalidArgument.
type Bytes[T buffer.Element] struct {
	ctx context.Context
	b   *buffer.Buffer[T]
}

var (
	_ io.ReaderAt   = Bytes[int8]{}
	_ io.WriterAt   = Bytes[int8]{}
	_ io.WriterTo   = Bytes[int8]{}
	_ io.ReaderFrom = Bytes[int8]{}
)

// Of returns the bytes of a buffer. The methods of the interfaces take no context, so they use ctx.
func Of[T buffer.Element](ctx context.Context, b *buffer.Buffer[T]) Bytes[T] { return Bytes[T]{ctx, b} }

func (x Bytes[T]) check(op string) error {
	if x.b == nil || x.ctx == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil buffer or context; make Bytes with Of")
	}
	return nil
}

func width[T any]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

func raw[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*width[T]())
}

// ReadAt copies the bytes that begin at off to p, as [io.ReaderAt] requires. Only the elements that contain these bytes
// are moved to the host, if they are not current there. If off is negative, the error is of kind ErrInvalidArgument.
func (x Bytes[T]) ReadAt(p []byte, off int64) (int, error) {
	const op = "ReadAt"
	if err := x.check(op); err != nil {
		return 0, err
	}
	size := int64(x.b.Size())
	switch {
	case off < 0:
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "offset %d", off)
	case off >= size:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	n := int(min(int64(len(p)), size-off))
	w := width[T]()
	first, last := int(off)/w, (int(off)+n-1)/w
	part, err := x.b.Slice(first, last+1)
	if err != nil {
		return 0, layer.Called(op, err)
	}
	err = part.View(x.ctx, func(s []T) error {
		copy(p[:n], raw(s)[int(off)-first*w:])
		return nil
	})
	switch {
	case err != nil:
		return 0, layer.Called(op, err)
	case n < len(p):
		return n, io.EOF
	}
	return n, nil
}

// fill is check for methods that write bytes.
func (x Bytes[T]) fill(op string) error {
	if err := x.check(op); err != nil {
		return err
	}
	if layout.Of(reflect.TypeFor[T]()).Bools {
		return hal.Errorf(op, hal.ErrUnsupported, "%v has a bool, and not every byte is one; use uint8", reflect.TypeFor[T]())
	}
	return nil
}

// WriteAt copies p to the bytes that begin at off, as [io.WriterAt] requires. At either end p may contain only part of
// an element. Such an element is moved to the host first; whole elements are not. The parts and the whole elements are
// written in separate accesses. If p does not fit in the buffer, the error is of kind ErrOutOfRange and nothing is written. If an element
// has a bool, the error of WriteAt and of ReadFrom is of kind ErrUnsupported.
func (x Bytes[T]) WriteAt(p []byte, off int64) (int, error) {
	const op = "WriteAt"
	if err := x.fill(op); err != nil {
		return 0, err
	}
	size := int64(x.b.Size())
	switch {
	case off < 0:
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "offset %d", off)
	case off > size || int64(len(p)) > size-off:
		return 0, hal.Errorf(op, hal.ErrOutOfRange, "the range [%d, %d+%d) exceeds the buffer of %d bytes", off, off, len(p), size)
	}
	w := width[T]()
	done := 0
	for done < len(p) {
		at := int(off) + done
		skip, first := at%w, at/w
		whole := (len(p) - done) / w
		var err error
		n := 0
		if skip == 0 && whole > 0 {
			n, err = x.write(first, first+whole, 0, p[done:done+whole*w])
		} else {
			n, err = x.write(first, first+1, skip, p[done:done+min(w-skip, len(p)-done)])
		}
		if err != nil {
			return done, layer.Called(op, err)
		}
		done += n
	}
	return done, nil
}

// write copies p to the bytes of the elements [i, j), after the first skip bytes.
func (x Bytes[T]) write(i, j, skip int, p []byte) (int, error) {
	part, err := x.b.Slice(i, j)
	if err != nil {
		return 0, err
	}
	access := part.Update
	if len(p) == (j-i)*width[T]() {
		access = part.Overwrite
	}
	err = access(x.ctx, func(s []T) error { copy(raw(s)[skip:], p); return nil })
	return len(p), err
}

// WriteTo writes all bytes to w in one call of Write, as [io.WriterTo] requires. Until that call returns other accesses cannot write
// the buffer, and w must not change the bytes.
func (x Bytes[T]) WriteTo(w io.Writer) (written int64, err error) {
	const op = "WriteTo"
	if err := x.check(op); err != nil {
		return 0, err
	}
	if w == nil {
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "nil writer")
	}
	ran := false
	err = x.b.View(x.ctx, func(s []T) error {
		ran = true
		n, err := w.Write(raw(s))
		written = int64(n)
		if err == nil && written < int64(len(raw(s))) {
			err = io.ErrShortWrite
		}
		return err
	})
	if !ran {
		err = layer.Called(op, err)
	}
	return written, err
}

// ReadFrom reads r to its end, as [io.ReaderFrom] requires, and replaces all bytes of the buffer. r must have exactly as many
// bytes as the buffer. If it has fewer, the error is of kind ErrInvalidArgument and wraps io.ErrUnexpectedEOF;
// if it has more, of kind ErrOutOfRange. After these errors, and after an error of r, nothing is written. Until r has ended, the bytes
// are in temporary memory. To read part of a stream, pass an [io.LimitReader].
func (x Bytes[T]) ReadFrom(r io.Reader) (int64, error) {
	const op = "ReadFrom"
	if err := x.fill(op); err != nil {
		return 0, err
	}
	if r == nil {
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "nil reader")
	}
	if err := layer.Ended(op, x.ctx); err != nil {
		return 0, err
	}
	size := int64(x.b.Size())
	data, err := io.ReadAll(io.LimitReader(r, size+1))
	n := int64(len(data))
	switch {
	case err != nil:
		return n, err
	case n < size:
		return n, &hal.Error{Op: op, Device: -1, Kind: hal.ErrInvalidArgument, Detail: "too few bytes for the buffer",
			Err: io.ErrUnexpectedEOF}
	case n > size:
		return n, hal.Errorf(op, hal.ErrOutOfRange, "the reader has more bytes than the %d of the buffer", size)
	}
	return n, layer.Called(op, x.b.Overwrite(x.ctx, func(s []T) error { copy(raw(s), data); return nil }))
}
