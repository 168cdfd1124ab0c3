//go:build !(linux && (amd64 || arm64))

package dl

import (
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

func (c *Chain) cross() { c.oneByOne() }
