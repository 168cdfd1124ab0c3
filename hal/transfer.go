package hal

import "context"

// Write copies src to dst and returns when that is done; src is free to change again.
// It is ordered with nothing else: the caller knows that no other work uses dst. If ctx ends first, src may still be
// read until the device is idle.
func (d *Device) Write(ctx context.Context, dst Region, src []byte) error {
	return d.transfer(ctx, "write", func(s *Stream) error { return s.CopyIn(dst, src) })
}

// Read copies src to dst and returns when that is done. Like Write, it is ordered with
// nothing else. If ctx ends first, dst may still be written to until the device is idle.
func (d *Device) Read(ctx context.Context, dst []byte, src Region) error {
	return d.transfer(ctx, "read", func(s *Stream) error { return s.CopyOut(dst, src) })
}

// transfersMost is how many calls of Read and Write copy at once; others wait for their turn.
const transfersMost = 4

// transfers are the streams of Read and Write. A stream carries one copy at a time, so that a call waits for its own copy and
// finds its own error.
type transfers struct {
	dev  *deviceState
	idle chan *Stream // with room for all
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
		return Interrupted(op, ctx)
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
		return nil, Interrupted(op, ctx)
	}
}

// add makes one more stream, nil if there are enough.
func (t *transfers) add(op string) (*Stream, error) {
	t.dev.mu.Lock()
	defer t.dev.mu.Unlock()
	switch {
	case t.dev.closed(): // and who closes it has been here
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

// abandon takes a stream back whose copy a call may have given up: when that has ended.
func (t *transfers) abandon(s *Stream) {
	m, err := s.Mark()
	if err != nil {
		t.idle <- s
		return
	}
	m.OnDone(func(error) {
		_, _ = s.Done() // its error is nobody's
		t.idle <- s
	})
	m.Release()
}

// close closes the streams of a device that is closed.
func (t *transfers) close() {
	t.dev.mu.Lock()
	all := t.all
	t.dev.mu.Unlock()
	for _, s := range all {
		_ = s.Close()
	}
}
