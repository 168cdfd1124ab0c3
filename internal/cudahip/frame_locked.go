//go:build !(linux && (amd64 || arm64))

package cudahip

import (
	"runtime"

	"github.com/go-halyard/halyard/internal/dl"
)

func (f *Frame) invoke() uintptr {
	f.failed = 0
	if f.bind != 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if status := dl.ProcAt(f.bind).Call1(f.ctx); int32(status) != 0 {
			f.failed = 1
			return status
		}
	}
	a := &f.Args
	return dl.ProcAt(f.fn).Call11(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]) // a launch takes 11
}
