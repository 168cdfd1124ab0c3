package encode

import (
	"context"
	"fmt"

	"github.com/go-halyard/halyard/hal"
)

func failure(op string, kind error, format string, args ...any) error {
	return &hal.Error{Op: op, Device: -1, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// stopped reports that ctx has ended, in the words of package buffer.
func stopped(ctx context.Context, op string) error {
	if ctx.Err() == nil {
		return nil
	}
	return &hal.Error{Op: op, Device: -1, Kind: hal.ErrNotReady, Err: context.Cause(ctx)}
}
