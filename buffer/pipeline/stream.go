package pipeline

import (
	"context"
	"io"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
)

// Reader returns a source that reads elements in the machine's own byte order. Every chunk but the last is full. If the
// stream ends within an element, the error is io.ErrUnexpectedEOF; if many reads in a row return nothing and no error,
// io.ErrNoProgress.
//
// The source checks its context before each call of Read, and returns the context's cause once it has ended. It cannot
// interrupt a Read that blocks: Run returns only after that Read. If that may take too long, the program should close the file or
// connection, or set a deadline on it, when the context ends.
func Reader[T buffer.Number](r io.Reader) Source[T] {
	return func(ctx context.Context, fill []T) (int, error) {
		b := bytesOf(fill)
		// io.ReadFull is not used, because its io.ErrUnexpectedEOF could also be the reader's own error, for example of a
		// truncated compressed stream.
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
			err = nil // the next read returns it again
		case err == io.EOF && n%elem != 0:
			err = io.ErrUnexpectedEOF
		}
		return n / elem, err
	}
}

// Writer returns a sink that writes elements in the machine's own byte order.
func Writer[U buffer.Number](w io.Writer) Sink[U] {
	return func(_ context.Context, results []U) error {
		b := bytesOf(results)
		n, err := w.Write(b)
		if err == nil && n < len(b) {
			err = io.ErrShortWrite // the writer breaks the rules of io.Writer
		}
		return err
	}
}

func bytesOf[T buffer.Number](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(s[0]))
}
