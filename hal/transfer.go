package hal

import (
	"context"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/wait"
)

// CopyStream returns one of two streams that belong to the device itself and close with it: the
// stream for copies from the device if out is true, else the one for copies to it. All callers
// share them; work from different callers runs in the order in which it was enqueued.
func (d *Device) CopyStream(out bool) (*Stream, error) {
	if d == nil || d.s == nil {
		return nil, noDevice("copy stream")
	}
	i := 0
	if out {
		i = 1
	}
	if s := d.s.copyStreams[i].Load(); s != nil {
		if d.h.Closed() || d.s.Calls.Closed() {
			return nil, d.s.closedError("copy stream")
		}
		return s, nil
	}
	if err := d.begin("copy stream"); err != nil {
		return nil, err
	}
	defer d.s.end()
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if s := d.s.copyStreams[i].Load(); s != nil {
		return s, nil
	}
	s, err := d.s.ownStream("copy stream")
	if err == nil {
		d.s.copyStreams[i].Store(s)
	}
	return s, err
}

// ownStream makes a stream that belongs to the device itself and closes with it.
func (s *deviceState) ownStream(op string) (*Stream, error) {
	drv, err := s.Drv.NewStream(driver.StreamOptions{})
	if err != nil {
		return nil, s.Check(err)
	}
	st := makeStream(s, drv)
	if !s.AdmitOwn(&st.Object, st) {
		return nil, s.closedError(op)
	}
	return &Stream{s: st, dev: s.common}, nil
}

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
	made int          // streams, guarded by the device's lock
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
	s, err := t.reserve(ctx, op)
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

// reserve returns an idle stream.
func (t *transfers) reserve(ctx context.Context, op string) (*Stream, error) {
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
	if t.made == transfersMost {
		return nil, nil
	}
	s, err := t.dev.ownStream(op)
	if err == nil {
		t.made++
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
