//go:build !(linux && (amd64 || arm64))

package dl

import (
	"runtime"
	"sync"

	"github.com/ebitengine/purego"
)

// frame holds the arguments of one call. purego.SyscallN lets them escape, so without the pool each call would allocate.
type frame struct{ args [MaxArgs]uintptr }

var frames = sync.Pool{New: func() any { return new(frame) }}

func (f *frame) call(p Proc, n int) uintptr {
	r, _, _ := purego.SyscallN(uintptr(p), f.args[:n]...)
	frames.Put(f)
	return r
}

// Run makes the calls.
func (s *Sequence) Run() { s.oneByOne() }

// Call makes the calls. ok is false if the first call failed: then result is that of the first call, and the second was
// not made.
func (p *Pair) Call() (result int32, ok bool) {
	if p.first.proc != 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if status := int32(p.first.proc.Call1(p.first.Args[0])); status != 0 {
			return status, false
		}
	}
	f := frames.Get().(*frame)
	f.args = p.Args
	return int32(f.call(p.proc, int(p.count))), true
}

func (c *Chain) cross() { c.oneByOne() }
