package halyard

import (
	"context"
	"errors"
	"sync"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/kernel"
)

// mostIdle is how many streams of closed forks wait for the next ones.
const mostIdle = 32

// forks are the streams of a queue's closed forks, which the next forks take.
type forks struct {
	mu     sync.Mutex
	idle   []*hal.Stream
	closed bool // the queue is
}

// Fork returns a queue on the same device for work that has nothing to do with that of q, such as a request to a server. The fork has a
// context, a stream, buffers and a first error of its own. So forks run at the same time, and an error on one is not an error on another.
// They share the device and the kernels that are compiled for it, and their kernels may use buffers of q. The program closes each fork: Close
// waits for the fork's work, frees its buffers, and keeps the stream for the next fork.
//
// If q has an error, such as that of [Open], this is the first error of the fork. A fork of a queue over several devices is over the same
// devices.
func (q *Queue) Fork(ctx context.Context) *Queue {
	const op = "Fork"
	f := newQueue(ctx, op)
	c, of := f.c, q.core()
	c.kept = true
	switch {
	case of == nil:
		c.keep(hal.Errorf(op, hal.ErrInvalidArgument, "nil or zero queue"))
	case of.keep(nil):
		c.first.take(of.first)
	case of.begin(op):
		defer of.end()
		c.keep(layer.Called(op, c.fork(of)))
	default: // closed, or recording
		c.first.take(of.first)
	}
	return f
}

// take takes over the error of another queue.
func (f *first) take(of *first) {
	err := of.said()
	f.mu.Lock()
	defer f.mu.Unlock()
	if kept, ok := err.(*Error); ok && f.err == nil {
		f.err = kept
		f.failed.Store(true)
	}
}

// fork makes a queue one on the devices of another.
func (c *core) fork(of *core) (err error) {
	stream := of.forks.take()
	if stream == nil {
		if stream, err = of.dev.NewStream(); err != nil {
			return err
		}
	}
	streams, others := []*hal.Stream{stream}, []opened(nil)
	for _, o := range of.others {
		if o.stream, err = o.dev.NewStream(); err != nil {
			break
		}
		streams, others = append(streams, o.stream), append(others, o)
	}
	if err == nil && len(others) > 0 {
		c.split, err = kernel.NewSplit(streams...)
	}
	if err != nil {
		errs := []error{err}
		for _, s := range streams {
			errs = append(errs, s.Close())
		}
		return errors.Join(errs...)
	}
	c.dev, c.stream, c.others, c.forks, c.on.Target = of.dev, stream, others, of.forks, stream
	if c.split != nil {
		c.on.Target = c.split
	}
	return nil
}

// release gives back the streams of a fork. Its work is done; failed is the error of this.
func (c *core) release(failed error) error {
	if len(c.others) == 0 && failed == nil && c.forks.give(c.stream) {
		return nil
	}
	return c.closeStreams()
}

func (k *forks) take() *hal.Stream {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(k.idle)
	if n == 0 {
		return nil
	}
	s := k.idle[n-1]
	k.idle[n-1] = nil
	k.idle = k.idle[:n-1]
	return s
}

func (k *forks) give(s *hal.Stream) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || len(k.idle) == mostIdle {
		return false
	}
	k.idle = append(k.idle, s)
	return true
}

// close closes the streams that wait. Forks that are open close their own.
func (k *forks) close() error {
	k.mu.Lock()
	idle := k.idle
	k.idle, k.closed = nil, true
	k.mu.Unlock()
	var errs []error
	for _, s := range idle {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
