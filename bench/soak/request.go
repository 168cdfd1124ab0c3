package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/bench/internal/frame"
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
	do    func(w *worker, ctx context.Context)
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
		if err := frame.Do(func() { k.do(w, ctx) }); err != nil {
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

// see views a buffer and looks at its elements.
func (w *worker) see(ctx context.Context, what string, b *buffer.Buffer[uint32], want func(i int) uint32) {
	frame.Must(b.View(ctx, func(got []uint32) error { w.look(what, got, want); return nil }))
}

// readWeights copies the shared weights out of a device's replica, on a stream of its own, and compares.
func (w *worker) readWeights(ctx context.Context, d *hal.Device) {
	s := frame.Get(d.NewStream())
	defer frame.Close(s)
	l := frame.Get(w.weights.Acquire(ctx, s, coherence.Read))
	got := make([]byte, 256)
	err := s.CopyOut(got, frame.Get(l.Region().Sub(0, uint64(len(got)))))
	frame.Must(errors.Join(err, l.Release(), s.Sync(ctx)))
	w.look("weights", words(got), weight)
}

func words(b []byte) []uint32 {
	list := make([]uint32, len(b)/4)
	for i := range list {
		list[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
	return list
}

// shortStream answers with a stream of its own.
func (w *worker) shortStream(ctx context.Context) { w.readWeights(ctx, w.main) }

// pooledBuffer answers with a stream and a buffer of its own. The buffer's memory comes from the pool.
func (w *worker) pooledBuffer(ctx context.Context) {
	s := frame.Get(w.pooled.NewStream())
	defer frame.Close(s)
	defer func() { frame.Then(recover(), w.pool.ForgetStream(s)) }()
	b := frame.Get(buffer.New[uint32](1 + w.rng.IntN(2000)))
	defer frame.Close(b)
	v := w.rng.Uint32()
	frame.Must(fill(ctx, b, s, v))
	w.see(ctx, "pooled buffer", b, each(v))
}

// slice writes to a random slice of the worker's part of the shared table, and checks the whole part.
func (w *worker) slice(ctx context.Context) {
	lo := w.rng.IntN(stripe)
	hi := lo + 1 + w.rng.IntN(stripe-lo)
	part := frame.Get(w.own.Slice(lo, hi))
	v := w.rng.Uint32()
	if w.rng.IntN(2) == 0 {
		frame.Must(fill(ctx, part, w.stream, v))
	} else {
		frame.Must(part.Fill(ctx, v))
	}
	for i := lo; i < hi; i++ {
		w.want[i] = v
	}
	w.lookAtOwn(ctx)
}

func (w *worker) lookAtOwn(ctx context.Context) {
	w.see(ctx, "slice", w.own, func(i int) uint32 { return w.want[i] })
}

// ranges writes to rows of the worker's part on the device, and reads them on the host.
func (w *worker) ranges(ctx context.Context) {
	var rows []buffer.Range
	for lo := w.rng.IntN(8); lo+8 <= stripe; lo += 16 + w.rng.IntN(32) {
		rows = append(rows, buffer.Range{Lo: lo, Hi: lo + 8})
	}
	l := frame.Get(w.own.AcquireRanges(ctx, w.stream, coherence.ReadWrite, rows))
	v := w.rng.Uint32()
	err := frame.Do(func() {
		for _, r := range rows {
			frame.Must(w.stream.Fill(frame.Get(l.Region().Sub(uint64(r.Lo-rows[0].Lo)*4, 32)), hal.Pattern32(v)))
		}
	})
	for _, r := range rows {
		for i := r.Lo; i < r.Hi; i++ {
			w.want[i] = v
		}
	}
	frame.Must(errors.Join(err, l.Release()))
	frame.Must(w.own.AccessRanges(ctx, coherence.Read, rows, func(got []uint32) error {
		for _, r := range rows {
			w.look("ranges", got[r.Lo-rows[0].Lo:][:8], each(v))
		}
		return nil
	}))
}

// budget uses one buffer of a set that does not fit into the device's budget.
func (w *worker) budget(ctx context.Context) {
	i := w.rng.IntN(len(w.set))
	if w.rng.IntN(2) == 0 {
		w.see(ctx, "budget", w.set[i], each(w.values[i]))
	}
	v := w.rng.Uint32()
	frame.Must(fill(ctx, w.set[i], w.stream, v))
	w.values[i] = v
}

// deadline waits for work behind a shut gate until a deadline of its own, opens the gate, and waits for the work.
func (w *worker) deadline(ctx context.Context) {
	w.gates.RLock()
	defer w.gates.RUnlock()
	gate := frame.Get(w.stream.Gate())
	v := w.rng.Uint32()
	err := fill(ctx, w.set[0], w.stream, v)
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
	frame.Must(errors.Join(err, gate.Signal()))
	w.see(ctx, "deadline", w.set[0], each(v))
}

// handle opens another handle on the device, reads the shared weights with it, and closes it.
func (w *worker) handle(ctx context.Context) {
	d := w.open(ctx)
	err := frame.Do(func() { w.readWeights(ctx, d) })
	err = errors.Join(err, w.weights.Evict(ctx, d))
	w.gates.Lock()
	defer w.gates.Unlock()
	frame.Must(errors.Join(err, d.Close()))
}

// chunks streams a few chunks through the device: while it works on one, the host fills the next.
func (w *worker) chunks(ctx context.Context) {
	const chunk, chunks, slots = 512, 6, 2
	var in, out [slots]*buffer.Buffer[uint32]
	var streams [slots]*hal.Stream
	for i := range slots {
		streams[i] = frame.Get(w.main.NewStream())
		in[i], out[i] = frame.Get(buffer.New[uint32](chunk)), frame.Get(buffer.New[uint32](chunk))
		defer func() { frame.Then(recover(), errors.Join(streams[i].Close(), in[i].Close(), out[i].Close())) }()
	}
	for i := range chunks + slots {
		at := i % slots
		if i >= slots {
			w.see(ctx, "chunks", out[at], each(uint32(i-slots)))
		}
		if i < chunks {
			frame.Must(in[at].Fill(ctx, uint32(i)))
			frame.Must(copyOn(ctx, streams[at], out[at], in[at]))
		}
	}
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
func (w *worker) failingDriver(ctx context.Context) {
	layer := faulty.New(host.New(host.Options{Name: "failing", Discrete: 1}))
	d := frame.Get(hal.OpenWith(ctx, layer, 1))
	fault := []error{hal.ErrDriver, hal.ErrInvalidArgument, hal.ErrOutOfMemory}[w.rng.IntN(3)]
	// failed reports whether there is an error. It must be one that the fault explains.
	failed := func(err error) bool {
		if !errors.Is(err, fault) && !errors.Is(err, hal.ErrDeviceLost) {
			frame.Must(err)
		}
		return err != nil
	}
	closed := func(p any, err error) { frame.Then(p, frame.Do(func() { failed(err) })) }
	defer func() {
		layer.Fail(0, fault)
		closed(recover(), d.Close())
	}()
	b := frame.Get(buffer.New[uint32](64))
	defer func() { closed(recover(), b.Close()) }()
	layer.Fail(int64(1+w.rng.IntN(40)), fault)
	s, err := d.NewStream()
	if failed(err) {
		return
	}
	defer func() { closed(recover(), s.Close()) }()
	var before uint32
	for v := uint32(1); v <= 4; v++ {
		lost := failed(fill(ctx, b, s, v))
		unseen := failed(b.View(ctx, func(got []uint32) error {
			w.look("failing driver", got, func(i int) uint32 {
				if lost && got[i] == before {
					return before
				}
				return v
			})
			return nil
		}))
		if lost || unseen { // make the contents known again
			failed(b.Fill(ctx, v))
		}
		before = v
	}
}

// traced records a trace of some requests in a file, and checks the file.
func (w *worker) traced(context.Context) {
	if !w.tracing.TryLock() {
		return
	}
	defer w.tracing.Unlock()
	file := frame.Get(os.CreateTemp("", "halyard-soak-*.json"))
	defer os.Remove(file.Name())
	frame.Must(file.Close())
	t := frame.Get(trace.Create(file.Name()))
	for range 20 {
		w.request()
	}
	frame.Must(t.Close())
	in := frame.Get(os.Open(file.Name()))
	defer in.Close()
	frame.Must(tracecheck.Check(in))
}
