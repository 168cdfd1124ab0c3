package pipeline

import (
	"context"
	"io"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
)

// Reader is a source that reads elements in the machine's own byte order. Chunks are as full as they can be. A stream that ends
// within an element gives io.ErrUnexpectedEOF.
func Reader[T buffer.Element](r io.Reader) Source[T] {
	return func(_ context.Context, fill []T) (int, error) {
		b := bytesOf(fill)
		// Not io.ReadFull, whose io.ErrUnexpectedEOF may be the reader's own: a compressed stream that was cut off.
		n, err := 0, error(nil)
		for n < len(b) && err == nil {
			var k int
			k, err = r.Read(b[n:])
			n += k
		}
		elem := int(unsafe.Sizeof(fill[0]))
		switch {
		case n == len(b):
			err = nil // it comes again
		case err == io.EOF && n%elem != 0:
			err = io.ErrUnexpectedEOF
		}
		return n / elem, err
	}
}

// Writer is a sink that writes elements in the machine's own byte order.
func Writer[U buffer.Element](w io.Writer) Sink[U] {
	return func(_ context.Context, results []U) error {
		b := bytesOf(results)
		n, err := w.Write(b)
		if err == nil && n < len(b) {
			err = io.ErrShortWrite // of a writer that breaks the rules
		}
		return err
	}
}

func bytesOf[T buffer.Element](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(s[0]))
}
