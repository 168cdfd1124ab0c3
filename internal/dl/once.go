package dl

import (
	"context"
	"sync"
	"sync/atomic"
)

// Once is a call into a library that is made once and may never return. Value and Err are its results, set when Returned reports true.
type Once[T any] struct {
	Call  func() (T, error)
	Value T
	Err   error

	once sync.Once
	over atomic.Bool
}

// Returned makes the call if nobody has, and reports whether it returned before ctx ended. No goroutine or channel outlives the call, and each
// caller has its own: the first may be in a bubble of package synctest, and the others not.
func (o *Once[T]) Returned(ctx context.Context) bool {
	if o.over.Load() {
		return true
	}
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		o.once.Do(func() {
			o.Value, o.Err = o.Call()
			o.over.Store(true)
		})
	}()
	select {
	case <-returned:
	case <-ctx.Done():
	}
	return o.over.Load()
}
