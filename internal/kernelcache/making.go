package kernelcache

import (
	"context"
	"errors"

	"github.com/go-halyard/halyard/hal/driver"
)

// making is an entry that a goroutine is looking up or making.
type making struct {
	done chan struct{} // closed at the end
	img  *driver.Image
	err  error
	// the outcome concerns only this caller: there was a panic, a context ended, or its device was closed or lost; others have to try
	// themselves
	own bool
}

// Do returns the image of an entry from the cache. If it is not there, Do calls compile and stores the result. If the result cannot be
// stored, Do still returns it. Calls for the same key at the same time look up and compile only once, on the goroutine of
// one of them. They return the same image, which must not be changed. An error of compile goes to all calls that wait at that time, and
// is not kept. If compile panics, or its error is that of a context or says that the caller's device was closed or lost, the calls that
// wait try themselves: their devices may be others.
//
// The error is of kind ErrNotReady, wrapping the context's cause, if ctx ended before the call began or while it waited for another call.
// compile is not interrupted.
func (c *Cache) Do(ctx context.Context, key Key, compile func() (*driver.Image, error)) (*driver.Image, error) {
	const op = "compile"
	for {
		if ctx.Err() != nil {
			return nil, interrupted(op, ctx)
		}
		c.mu.Lock()
		m := c.making[key]
		if m == nil {
			m = &making{done: make(chan struct{})}
			c.making[key] = m
			c.mu.Unlock()
			return c.fill(m, key, compile)
		}
		c.mu.Unlock()
		select {
		case <-m.done:
			if !m.own {
				return m.img, m.err
			}
		case <-ctx.Done():
			return nil, interrupted(op, ctx)
		}
	}
}

// fill looks an entry up or makes it, and wakes the calls that wait for it.
func (c *Cache) fill(m *making, key Key, compile func() (*driver.Image, error)) (*driver.Image, error) {
	m.own = true // stays so if compile panics
	defer func() {
		c.mu.Lock()
		delete(c.making, key)
		c.mu.Unlock()
		close(m.done)
	}()
	img, ok := c.Get(key)
	if !ok {
		var err error
		img, err = compile()
		if err == nil && img == nil {
			err = failure("compile", driver.ErrDriver, nil, "the compiler returned no image")
		}
		if err != nil {
			m.err, m.own = err, ofCaller(err)
			return nil, err
		}
		_ = c.Put(key, img)
	}
	m.img, m.own = img, false
	return img, nil
}

func interrupted(op string, ctx context.Context) error {
	return &driver.Error{Op: op, Device: -1, Kind: driver.ErrNotReady, Err: context.Cause(ctx)}
}

// ofCaller reports whether an error says that a context ended, or that a device was closed or lost.
func ofCaller(err error) bool {
	for _, kind := range []error{context.Canceled, context.DeadlineExceeded, driver.ErrNotReady, driver.ErrClosed, driver.ErrDeviceLost} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
