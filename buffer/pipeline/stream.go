package pipeline

import (
	"context"
	"io"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
)

// Reader is a source that reads elements in the machine's own byte order. Chunks are as full as they can be. A stream that ends
// within an element gives io.ErrUnexpectedEOF. One whose reads give nothing and no error many times in a row gives io.ErrNoProgress.
//
// The source looks at its context before each call of Read, and gives the context's cause once it has ended. It cannot interrupt a
// Read that blocks: Run returns when that Read has. A program that cannot wait for it closes the file or the connection, or sets a
// deadline on it, when the context ends.
func Reader[T buffer.Element](r io.Reader) Source[T] {
	return func(ctx context.Context, fill []T) (int, error) {
		b := bytesOf(fill)
		// Not io.ReadFull, whose io.ErrUnexpectedEOF may be the reader's own: a compressed stream that was cut off.
		n, empty, err := 0, 0, error(nil)
		for n < len(b) && err == nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
				break
			}
			var k int
			k, err = r.Read(b[n:])
			n += k
			if k > 0 {
				empty = 0
			} else if empty++; empty == emptyMost && err == nil {
				err = io.ErrNoProgress
			}
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
