package hal

import (
	"context"

	"github.com/go-halyard/halyard/hal/internal/wait"
)

// Write copies src to dst and waits until the copy is done.
// It is not ordered with any stream: the caller makes sure that no other work uses dst. If ctx ends first, src may still be
// read until the device is idle.
func (d *Device) Write(ctx context.Context, dst Region, src []byte) error {
	return d.transfer(ctx, "write", func(s *Stream) error { return s.CopyIn(dst, src) })
}

// Read copies src to dst and waits until the copy is done. Like Write, it is not ordered with
// any stream. If ctx ends first, dst may still be written to until the device is idle.
func (d *Device) Read(ctx context.Context, dst []byte, src Region) error {
	return d.transfer(ctx, "read", func(s *Stream) error { return s.CopyOut(dst, src) })
}

// transfersMost is the number of Read and Write calls that copy at once; other calls wait for their turn.
const transfersMost = 4

// transfers are the streams of Read and Write. A stream carries one copy at a time, so that a call waits for its own copy and
// finds its own error.
type transfers struct {
	dev  *deviceState
	idle chan *Stream // buffered for all streams
	all  []*Stream    // guarded by the device's lock
}

func (t *transfers) init(s *deviceState) {
	t.dev, t.idle = s, make(chan *Stream, transfersMost)
}

// transfer runs copy on a stream of its own and waits for it.
func (d *Device) transfer(ctx context.Context, op string, copy func(*Stream) error) error {
	if err := d.begin(op); err != nil {
		return err
	}
	defer d.s.end()
	t := &d.s.transfers
	if ctx.Err() != nil {
		return wait.Interrupted(op, ctx)
	}
	s, err := t.take(ctx, op)
	if err != nil {
		return err
	}
	if err = copy(s); err == nil {
		err = s.Sync(ctx)
	}
	if err == nil || ctx.Err() == nil {
		t.idle <- s
	} else {
		t.abandon(s)
	}
	return err
}

// take returns an idle stream.
func (t *transfers) take(ctx context.Context, op string) (*Stream, error) {
	select {
	case s := <-t.idle:
		return s, nil
	default:
	}
	if s, err := t.add(op); s != nil || err != nil {
		return s, err
	}
	select {
	case s := <-t.idle:
		return s, nil
	case <-ctx.Done():
		return nil, wait.Interrupted(op, ctx)
	}
}

// add makes one more stream, or returns nil if there are transfersMost.
func (t *transfers) add(op string) (*Stream, error) {
	t.dev.mu.Lock()
	defer t.dev.mu.Unlock()
	switch {
	case t.dev.Calls.Closed(): // Device.Close has already collected the streams
		return nil, t.dev.closedError(op)
	case len(t.all) == transfersMost:
		return nil, nil
	}
	s, err := t.dev.ownStream()
	if err == nil {
		t.all = append(t.all, s)
	}
	return s, err
}

// abandon makes a stream idle again once its copy, which the call no longer waits for, has ended.
func (t *transfers) abandon(s *Stream) {
	e, err := s.event("copy")
	if err != nil {
		t.idle <- s
		return
	}
	e.OnDone(func(error) {
		_, _ = s.Done() // else the stream's next user would get this copy's error
		t.idle <- s
	})
	e.Release()
}
