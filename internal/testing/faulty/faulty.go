// Package faulty wraps a backend in a layer that makes one chosen call fail, to test what stands above the
// layer. It works with real drivers, which cannot be told to fail.
package faulty

import (
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// Code is the vendor's status of errors made here.
const Code = 4242

// Backend passes every call on to another backend, except one that it was told to fail. A failed call has no
// effect, except that a call that releases something still releases it.
type Backend struct {
	hooked.Backend
	left atomic.Int64
	kind atomic.Pointer[error]
	hits atomic.Uint64
	made atomic.Uint64
	lies atomic.Int64
}

// New returns a layer around a backend, of the same name.
func New(real driver.Backend) *Backend {
	b := &Backend{Backend: hooked.Backend{Backend: real}}
	b.Call = b.call
	b.Drop = func(*hooked.Stream, string) bool { return b.lies.Load() > 0 && b.lies.Add(-1) == 0 }
	return b
}

// Fail makes the n-th call from now on fail once, with an error of the kind; 1 is the next call. 0 cancels
// an earlier Fail.
func (b *Backend) Fail(n int64, kind error) {
	b.kind.Store(&kind)
	b.left.Store(n)
}

// Lie makes the n-th copy or fill from now on do nothing and report success, to see that a test notices.
func (b *Backend) Lie(n int64) { b.lies.Store(n) }

// Failed is how many calls have failed on demand.
func (b *Backend) Failed() uint64 { return b.hits.Load() }

// Calls is how many calls could have failed.
func (b *Backend) Calls() uint64 { return b.made.Load() }

func (b *Backend) call(op string, device int) error {
	b.made.Add(1)
	if b.left.Load() <= 0 || b.left.Add(-1) != 0 {
		return nil
	}
	b.hits.Add(1)
	e := &driver.Error{Op: op, Backend: b.Name(), Device: device, Kind: *b.kind.Load(),
		Detail: "made to fail", Vendor: driver.Vendor{API: "faulty " + op, Name: "MADE_TO_FAIL", Code: Code}}
	if e.Kind == driver.ErrOutOfMemory {
		e.Shortage = &driver.Shortage{}
	}
	return e
}
