package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/trace"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/faulty"
	"github.com/go-halyard/halyard/internal/testing/tracecheck"
)

// kind is a kind of request.
type kind struct {
	name  string
	share int // of all requests, relative to the others'
	do    func(w *worker, ctx context.Context) error
}

var kinds = []kind{
	{"stream", 300, (*worker).shortStream},
	{"buffer", 150, (*worker).pooledBuffer},
	{"slice", 200, (*worker).slice},
	{"ranges", 80, (*worker).ranges},
	{"budget", 150, (*worker).budget},
	{"deadline", 40, (*worker).deadline},
	{"handle", 20, (*worker).handle},
	{"chunks", 10, (*worker).chunks},
	{"failing driver", 20, (*worker).failingDriver},
	{"trace", 2, (*worker).traced},
}

// request answers one request of a random kind.
func (w *worker) request() {
	all := 0
	for _, k := range w.kinds {
		all += k.share
	}
	at := w.rng.IntN(all)
	for i, k := range w.kinds {
		if at -= k.share; at >= 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		if err := k.do(w, ctx); err != nil {
			w.fail(k.name, err)
		}
		cancel()
		w.done[i]++
		w.requests.Add(1)
		return
	}
}

// look counts the bytes of elements that are not as wanted.
func (w *worker) look(what string, got []uint32, want func(i int) uint32) {
	bad := 0
	for i, v := range got {
		if v != want(i) {
			bad++
		}
	}
	if bad > 0 {
		w.wrong.Add(uint64(4 * bad))
		w.fail(what, fmt.Errorf("%d of %d elements are wrong", bad, len(got)))
	}
}

func each(v uint32) func(int) uint32 { return func(int) uint32 { return v } }

// fill writes v to all elements of a buffer, as work of a stream.
func fill(ctx context.Context, b *buffer.Buffer[uint32], s *hal.Stream, v uint32) error {
	l, err := b.Acquire(ctx, s, coherence.ReadWrite)
	if err != nil {
		return err
	}
	return errors.Join(s.Fill(l.Region(), hal.Pattern32(v)), l.Release())
}

// onStream calls fn with a new stream, and closes the stream afterwards.
func onStream(d *hal.Device, fn func(s *hal.Stream) error) error {
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	err = fn(s)
	return errors.Join(err, s.Close())
}

// readWeights copies the shared weights out of a device's replica and compares.
func (w *worker) readWeights(ctx context.Context, s *hal.Stream) error {
	l, err := w.weights.Acquire(ctx, s, coherence.Read)
	if err != nil {
		return err
	}
	got := make([]byte, 256)
	part, err := l.Region().Sub(0, uint64(len(got)))
	if err == nil {
		err = s.CopyOut(got, part)
	}
	if err := errors.Join(err, l.Release(), s.Sync(ctx)); err != nil {
		return err
	}
	w.look("weights", words(got), weight)
	return nil
}

func words(b []byte) []uint32 {
	list := make([]uint32, len(b)/4)
	for i := range list {
		list[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
	return list
}

// shortStream answers with a stream of its own.
func (w *worker) shortStream(ctx context.Context) error {
	return onStream(w.main, func(s *hal.Stream) error { return w.readWeights(ctx, s) })
}

// pooledBuffer answers with a stream and a buffer of its own. The buffer's memory comes from the pool.
func (w *worker) pooledBuffer(ctx context.Context) error {
	return onStream(w.pooled, func(s *hal.Stream) error {
		b, err := buffer.New[uint32](1 + w.rng.IntN(2000))
		if err != nil {
			return err
		}
		v := w.rng.Uint32()
		err = fill(ctx, b, s, v)
		if err == nil {
			err = b.View(ctx, func(got []uint32) error { w.look("pooled buffer", got, each(v)); return nil })
		}
		return errors.Join(err, b.Close(), w.pool.ForgetStream(s))
	})
}

// slice writes to a random slice of the worker's part of the shared table, and checks the whole part.
func (w *worker) slice(ctx context.Context) error {
	lo := w.rng.IntN(stripe)
	hi := lo + 1 + w.rng.IntN(stripe-lo)
	part, err := w.own.Slice(lo, hi)
	if err != nil {
		return err
	}
	v := w.rng.Uint32()
	if w.rng.IntN(2) == 0 {
		err = fill(ctx, part, w.stream, v)
	} else {
		err = part.Fill(ctx, v)
	}
	if err != nil {
		return err
	}
	for i := lo; i < hi; i++ {
		w.want[i] = v
	}
	return w.lookAtOwn(ctx)
}

func (w *worker) lookAtOwn(ctx context.Context) error {
	return w.own.View(ctx, func(got []uint32) error {
		w.look("slice", got, func(i int) uint32 { return w.want[i] })
		return nil
	})
}

// ranges writes to rows of the worker's part on the device, and reads them on the host.
func (w *worker) ranges(ctx context.Context) error {
	var rows []buffer.Range
	for lo := w.rng.IntN(8); lo+8 <= stripe; lo += 16 + w.rng.IntN(32) {
		rows = append(rows, buffer.Range{Lo: lo, Hi: lo + 8})
	}
	l, err := w.own.AcquireRanges(ctx, w.stream, coherence.ReadWrite, rows)
	if err != nil {
		return err
	}
	v := w.rng.Uint32()
	for _, r := range rows {
		row, e := l.Region().Sub(uint64(r.Lo-rows[0].Lo)*4, 32)
		err = errors.Join(err, e)
		if e == nil {
			err = errors.Join(err, w.stream.Fill(row, hal.Pattern32(v)))
		}
		for i := r.Lo; i < r.Hi; i++ {
			w.want[i] = v
		}
	}
	if err := errors.Join(err, l.Release()); err != nil {
		return err
	}
	return w.own.AccessRanges(ctx, coherence.Read, rows, func(got []uint32) error {
		for _, r := range rows {
			w.look("ranges", got[r.Lo-rows[0].Lo:][:8], each(v))
		}
		return nil
	})
}

// budget uses one buffer of a set that does not fit into the device's budget.
func (w *worker) budget(ctx context.Context) error {
	i := w.rng.IntN(len(w.set))
	if w.rng.IntN(2) == 0 {
		err := w.set[i].View(ctx, func(got []uint32) error { w.look("budget", got, each(w.values[i])); return nil })
		if err != nil {
			return err
		}
	}
	v := w.rng.Uint32()
	if err := fill(ctx, w.set[i], w.stream, v); err != nil {
		return err
	}
	w.values[i] = v
	return nil
}

// deadline waits for work behind a shut gate until a deadline of its own, opens the gate, and waits for the work.
func (w *worker) deadline(ctx context.Context) error {
	w.gates.RLock()
	defer w.gates.RUnlock()
	gate, err := w.stream.Gate()
	if err != nil {
		return err
	}
	v := w.rng.Uint32()
	err = fill(ctx, w.set[0], w.stream, v)
	if err == nil {
		short, cancel := context.WithTimeout(ctx, time.Duration(20+w.rng.IntN(200))*time.Microsecond)
		if w.rng.IntN(2) == 0 {
			err = w.set[0].View(short, func([]uint32) error { return nil })
		} else {
			err = w.stream.Sync(short)
		}
		cancel()
		switch {
		case err == nil:
			err = errEarly
		case errors.Is(err, context.DeadlineExceeded):
			err = nil
		}
		w.values[0] = v
	}
	if err := errors.Join(err, gate.Signal()); err != nil {
		return err
	}
	return w.set[0].View(ctx, func(got []uint32) error { w.look("deadline", got, each(v)); return nil })
}

// handle opens another handle on the device, reads the shared weights with it, and closes it.
func (w *worker) handle(ctx context.Context) error {
	d, err := w.open(ctx)
	if err != nil {
		return err
	}
	err = onStream(d, func(s *hal.Stream) error { return w.readWeights(ctx, s) })
	err = errors.Join(err, w.weights.Evict(ctx, d))
	w.gates.Lock()
	defer w.gates.Unlock()
	return errors.Join(err, d.Close())
}

// chunks streams a few chunks through the device: while it works on one, the host fills the next.
func (w *worker) chunks(ctx context.Context) (err error) {
	const chunk, chunks, slots = 512, 6, 2
	var in, out [slots]*buffer.Buffer[uint32]
	var streams [slots]*hal.Stream
	defer func() {
		for i := range slots {
			if streams[i] != nil {
				err = errors.Join(err, streams[i].Close())
			}
			err = errors.Join(err, in[i].Close(), out[i].Close())
		}
	}()
	for i := range slots {
		if in[i], err = buffer.New[uint32](chunk); err == nil {
			out[i], err = buffer.New[uint32](chunk)
		}
		if err == nil {
			streams[i], err = w.main.NewStream()
		}
		if err != nil {
			return err
		}
	}
	for i := range chunks + slots {
		at := i % slots
		if i >= slots {
			err = out[at].View(ctx, func(got []uint32) error {
				w.look("chunks", got, each(uint32(i-slots)))
				return nil
			})
		}
		if err == nil && i < chunks {
			err = in[at].Overwrite(ctx, func(fill []uint32) error {
				for k := range fill {
					fill[k] = uint32(i)
				}
				return nil
			})
			if err == nil {
				err = copyOn(ctx, streams[at], out[at], in[at])
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyOn enqueues a copy of a whole buffer, as a kernel would be.
func copyOn(ctx context.Context, s *hal.Stream, dst, src *buffer.Buffer[uint32]) error {
	leases, err := buffer.AcquireAll(ctx, s, src.Want(coherence.Read), dst.Want(coherence.Overwrite))
	if err != nil {
		return err
	}
	return errors.Join(s.Copy(leases.At(1).Region(), leases.At(0).Region()), leases.Release())
}

// failingDriver uses a device whose driver fails once. After a failed write each element has its old or its new value.
func (w *worker) failingDriver(ctx context.Context) (err error) {
	layer := faulty.New(host.New(host.Options{Name: "failing", Discrete: 1}))
	d, err := hal.OpenWith(ctx, layer, 1)
	if err != nil {
		return err
	}
	fault := []error{hal.ErrDriver, hal.ErrInvalidArgument, hal.ErrOutOfMemory}[w.rng.IntN(3)]
	// explained returns nil for an error that the fault explains.
	explained := func(err error) error {
		if errors.Is(err, fault) || errors.Is(err, hal.ErrDeviceLost) {
			return nil
		}
		return err
	}
	defer func() {
		layer.Fail(0, fault)
		err = errors.Join(err, explained(d.Close()))
	}()
	b, err := buffer.New[uint32](64)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, explained(b.Close())) }()
	layer.Fail(int64(1+w.rng.IntN(40)), fault)
	s, err := d.NewStream()
	if err != nil {
		return explained(err)
	}
	defer func() { err = errors.Join(err, explained(s.Close())) }()
	var before uint32
	for v := uint32(1); v <= 4; v++ {
		failed := fill(ctx, b, s, v)
		if err := explained(failed); err != nil {
			return err
		}
		seen := false
		err := b.View(ctx, func(got []uint32) error {
			seen = true
			w.look("failing driver", got, func(i int) uint32 {
				if failed != nil && got[i] == before {
					return before
				}
				return v
			})
			return nil
		})
		if err := explained(err); err != nil {
			return err
		}
		if failed != nil || !seen { // make the contents known again
			if err := explained(b.Fill(ctx, v)); err != nil {
				return err
			}
		}
		before = v
	}
	return nil
}

// traced records a trace of some requests in a file, and checks the file.
func (w *worker) traced(context.Context) error {
	if !w.tracing.TryLock() {
		return nil
	}
	defer w.tracing.Unlock()
	file, err := os.CreateTemp("", "halyard-soak-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if err := file.Close(); err != nil {
		return err
	}
	t, err := trace.Create(file.Name())
	if err != nil {
		return err
	}
	for range 20 {
		w.request()
	}
	if err := t.Close(); err != nil {
		return err
	}
	in, err := os.Open(file.Name())
	if err != nil {
		return err
	}
	defer in.Close()
	return tracecheck.Check(in)
}
