package npy

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-halyard/halyard/hal"
)

// unread returns the error for a failed read: an error of kind ErrInvalidArgument if the file ended early, otherwise the wrapped error of
// the reader.
func unread(op, what string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &hal.Error{Op: op, Device: -1, Kind: hal.ErrInvalidArgument, Detail: "the file ends within " + what,
			Err: io.ErrUnexpectedEOF}
	}
	return fmt.Errorf("%s: %s: %w", op, what, err)
}
