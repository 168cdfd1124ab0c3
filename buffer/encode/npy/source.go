package npy

import (
	"context"
	"fmt"
	"io"

	"github.com/go-halyard/halyard/hal"
)

const (
	emptyMost = 100      // the most reads in a row that may return nothing
	extraMost = 64 << 10 // the most bytes after the elements that are read to report their number in an error
)

// Source reads the header of a file and returns it, with a source of the elements for pipeline.Run. The source returns the elements in the
// order of the file, and in this machine's byte order.
//
// The errors of Source itself are those of [ReadHeader]; if the elements are not of type T, the error is of kind
// ErrInvalidArgument. The source compares the file's length with the header: if the file ends before its last element or
// has bytes after it, the error is of kind ErrInvalidArgument and names both lengths; for an early end it wraps
// io.ErrUnexpectedEOF. Errors of the reader are wrapped. Like pipeline.Reader, the source checks its context before each
// Read, and returns io.ErrNoProgress if many reads in a row return nothing.
func Source[T any](r io.Reader) (Header, func(ctx context.Context, fill []T) (int, error), error) {
	const op = "read npy"
	h, err := ReadHeader(r)
	if err != nil {
		return Header{}, nil, err
	}
	n, err := fits[T](op, h)
	if err != nil {
		return Header{}, nil, err
	}
	s := source{r: r, h: h, left: n * h.Type.Size, whole: n * h.Type.Size}
	return h, func(ctx context.Context, fill []T) (int, error) {
		b := raw(fill)
		b = b[:min(len(b), s.left)]
		if err := s.read(ctx, op, b); err != nil {
			return 0, err
		}
		h.Type.toNative(b, h.BigEndian)
		n := len(b) / h.Type.Size
		if s.left > 0 {
			return n, nil
		}
		if err := s.end(ctx, op); err != nil {
			return 0, err
		}
		return n, io.EOF
	}, nil
}

// source is a file whose header was read.
type source struct {
	r           io.Reader
	h           Header
	left, whole int // bytes of elements: those not read yet, and all
	ended       bool
}

func (s *source) promise() string {
	return fmt.Sprintf("the header states %d bytes of elements, for shape %v", s.whole, s.h.Shape)
}

// read fills b with bytes of elements.
func (s *source) read(ctx context.Context, op string, b []byte) error {
	n, err := s.some(ctx, b)
	s.left -= n
	switch {
	case n == len(b):
		return nil // the next read returns any error again
	case err == io.EOF:
		return &hal.Error{Op: op, Device: -1, Kind: hal.ErrInvalidArgument, Err: io.ErrUnexpectedEOF,
			Detail: fmt.Sprintf("%s, but the file has %d", s.promise(), s.whole-s.left)}
	}
	return unread(op, "the elements", err)
}

// end returns an error if bytes follow the elements.
func (s *source) end(ctx context.Context, op string) error {
	if s.ended {
		return nil
	}
	extra := make([]byte, extraMost)
	n, err := s.some(ctx, extra[:1])
	if n > 0 {
		more := 0
		if more, err = s.some(ctx, extra[1:]); err == nil || err == io.EOF {
			least := ""
			if err == nil {
				least = "at least "
			}
			return hal.Errorf(op, hal.ErrInvalidArgument, "%s, but the file has %s%d", s.promise(), least, s.whole+n+more)
		}
	}
	if err != io.EOF {
		return unread(op, "the end of the elements", err)
	}
	s.ended = true
	return nil
}

// some reads until b is full or the reader has no more bytes. If b is not full, the error says why.
func (s *source) some(ctx context.Context, b []byte) (n int, err error) {
	for empty := 0; n < len(b) && err == nil; {
		if ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		var k int
		k, err = s.r.Read(b[n:])
		n += k
		if k > 0 {
			empty = 0
		} else if empty++; empty == emptyMost && err == nil {
			err = io.ErrNoProgress
		}
	}
	if n == len(b) {
		return n, nil
	}
	return n, err
}
