// Package awaited lets packages of this module give the address of a buffer's elements on a device to a library that knows no streams.
// Package comm stands on it. No program needs it, so package buffer does not export it.
package awaited

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer/slot"
)

var under = slot.Buffer.(struct {
	AcquireAwaited func(ctx context.Context, b any, mode coherence.Mode, fits func(*hal.Device) bool) (buffer.Lease, bool, error)
})

// Acquire returns a lease on the elements at a device that has all of them in memory of its own and for which fits returns true, once all
// work has ended that the lease depends on. It waits for that work, and for accesses that exclude the lease, until ctx ends. If there is no
// such device, ok is false and nothing has changed.
//
// The elements may be used until Release, by calls of the host alone, whose work has ended before Release. [buffer.Lease.ReleaseChecked]
// calls its function at once. fits is called with the buffer locked, and must neither block nor use the buffer.
func Acquire[T buffer.Element](ctx context.Context, b *buffer.Buffer[T], mode coherence.Mode, fits func(*hal.Device) bool) (lease buffer.Lease, ok bool, err error) {
	return under.AcquireAwaited(ctx, b, mode, fits)
}
