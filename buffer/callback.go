package buffer

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
)

// callbacks is the number of functions of the program that run now although a storage is locked: observers, and functions of ReleaseChecked.
var callbacks atomic.Int32

// callback runs such a function. The state is half changed meanwhile, so a panic does not go on from here: it is returned as an error.
//
//go:noinline
func callback(fn func()) (thrown error) {
	callbacks.Add(1)
	defer func() {
		callbacks.Add(-1)
		if p := recover(); p != nil {
			thrown = &panicked{p, debug.Stack()}
		}
	}()
	fn()
	return nil
}

// panicked is a panic in a callback.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string {
	return fmt.Sprintf("%v\n\nin a function that package buffer called:\n%s", p.value, p.stack)
}

func (p *panicked) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// guarded makes the check of a ReleaseChecked a callback. If it panics, the elements are lost.
func guarded(check func() error) func() error {
	return func() (err error) {
		if thrown := callback(func() { err = check() }); thrown != nil {
			return &hal.Error{Op: "release", Device: -1, Kind: hal.ErrInvalidArgument, Detail: "the function of ReleaseChecked panicked", Err: thrown}
		}
		return err
	}
}

// mutex is a lock during which callbacks may run. A callback that uses a buffer could wait for itself, so Lock panics there.
type mutex struct{ sync.Mutex }

func (m *mutex) Lock() {
	if callbacks.Load() != 0 {
		refuseCallbacks()
	}
	m.Mutex.Lock()
}

// refuseCallbacks panics if the caller is within a callback.
func refuseCallbacks() {
	var pcs [64]uintptr
	for skip := 0; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		frames := runtime.CallersFrames(pcs[:n])
		for more := n > 0; more; {
			var f runtime.Frame
			if f, more = frames.Next(); f.Function == packagePath+".callback" {
				panic("buffer: observers and functions of ReleaseChecked run with a buffer locked, and must not use buffers")
			}
		}
		if n < len(pcs) {
			return
		}
	}
}

// unlock unlocks the storage at the end of a call of the program. If a callback has panicked during the call, unlock panics.
func (s *storage) unlock() { raise(s.unlockFirst()) }

// unlockFirst is unlock for callers that have something to do before they pass the result to raise.
func (s *storage) unlockFirst() (thrown error) {
	thrown, s.thrown = s.thrown, nil
	s.mu.Unlock()
	return thrown
}

func raise(thrown error) {
	if thrown != nil {
		panic(thrown)
	}
}

// endUnless ends an access that a call has begun, unless it is ready and the call is going to return it. It is deferred after unlock, so it runs before.
func (x *access) endUnless(ready *bool) {
	if s := x.storage; !*ready || s.thrown != nil {
		s.end(x)
	}
}
