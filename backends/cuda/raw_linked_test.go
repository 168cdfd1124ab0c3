//go:build cuda && linux && linked && cgo

package cuda

import (
	"testing"

	"gorgonia.org/cu"

	"github.com/go-halyard/halyard/internal/gpu/gputest"
)

// raw are the driver's calls as gorgonia.org/cu makes them.
func raw(testing.TB, string) gputest.Raw {
	return gputest.Raw{
		Current: func() {
			ctx, _ := cu.Device(0).RetainPrimaryCtx()
			_ = cu.SetCurrentContext(ctx)
			_ = cu.Device(0).ReleasePrimaryCtx()
		},
		CopyIn: func(dst, src, n, s uintptr) {
			_ = cu.MemcpyHtoDAsync(cu.DevicePtr(dst), host(src), int64(n), stream(s))
		},
		Fill: func(dst uintptr, v uint8, n, s uintptr) {
			_ = cu.MemsetD8Async(cu.DevicePtr(dst), v, int64(n), stream(s))
		},
		Record: func(e, s uintptr) { _ = event(e).Record(stream(s)) },
		Query:  func(s uintptr) { _ = stream(s).Query() },
	}
}
