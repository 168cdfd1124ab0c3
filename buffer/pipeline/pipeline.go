package pipeline

import (
	"context"
	"errors"
	"io"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// Source writes the next chunk to the start of fill and returns the chunk's number of elements. The error io.EOF means that this
// chunk, which may be empty, is the last. If a source returns 0 and no error many times in a row, the
// pipeline ends with io.ErrNoProgress. fill has unspecified contents before the call, and must not be kept after it.
type Source[T buffer.Element] func(ctx context.Context, fill []T) (n int, err error)

// Sink receives the results of the next chunk, which it must neither change nor keep.
type Sink[U buffer.Element] func(ctx context.Context, results []U) error

// Process enqueues the work on a chunk, without waiting for it, and returns the number of results that the work writes to the
// start of Work.Results. It must neither keep nor release the leases.
type Process func(w Work) (results int, err error)

// Work is one chunk on the device.
type Work struct {
	Index   int64        // number of the chunk, from 0
	N       int          // elements of the chunk
	Stream  *hal.Stream  // the stream on which the work must be enqueued
	In      buffer.Lease // lease of the N elements, for reading
	Results buffer.Lease // lease for writing, with the number of elements of WithResults, or of a chunk without that option
}

// emptyMost is the number of times in a row that a source, or its io.Reader, may return nothing and no error before the
// pipeline ends.
const emptyMost = 100

// errGone is the error if a function ends its goroutine, with runtime.Goexit, instead of returning.
var errGone = hal.Errorf("pipeline", hal.ErrInvalidArgument, "a function of the program ended its goroutine instead of returning")

// Run reads chunks from source, processes them on the device with process, and passes the results to sink, in order. It returns nil
// when the sink has received the results of the last chunk. A chunk has at most chunk elements, chunk > 0.
//
// The three functions run concurrently with each other, but no function runs twice at a time: source and process run on
// separate goroutines, where a panic ends the program, and sink on the caller's. The first error ends the pipeline: Run cancels the context of the functions,
// waits for them to return, and returns that error unchanged. If ctx ends, the error is of kind hal.ErrNotReady and wraps
// the context's cause. In both cases the sink has received the results of the first chunks, without a gap.
//
// Run allocates memory for [WithDepth] chunks and their results, on the host and on the device. The host's memory is page-locked unless
// the device shares it. If one of them has too little memory, the error is of kind hal.ErrOutOfMemory. When Run returns an
// error, enqueued work may still use the memory, which is then freed after that work.
func Run[T, U buffer.Element](ctx context.Context, dev *hal.Device, chunk int, source Source[T], process Process, sink Sink[U], opts ...Option) error {
	const op = "pipeline"
	o := options{chunk: chunk}
	for _, set := range opts {
		if set == nil {
			return hal.Errorf(op, hal.ErrInvalidArgument, "nil option")
		}
		set(&o)
	}
	if o.results == 0 {
		o.results = o.chunk
	}
	if o.depth == 0 {
		o.depth = defaultDepth
	}
	switch {
	case dev == nil || source == nil || process == nil || sink == nil:
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil device or function")
	case o.chunk <= 0 || o.results <= 0:
		return hal.Errorf(op, hal.ErrInvalidArgument, "a chunk has %d elements and its results have %d; both must be above 0", o.chunk, o.results)
	case o.depth < 1 || o.depth > maxDepth:
		return hal.Errorf(op, hal.ErrInvalidArgument, "the depth is %d; it must be from 1 to %d", o.depth, maxDepth)
	case ctx.Err() != nil:
		return layer.Interrupted(op, ctx)
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := func(err error) { cancel(&failure{err, inner}) }
	p := &run[T, U]{
		ctx: inner, stop: stop, o: o, source: source, process: process, sink: sink, total: -1,
		free: make(chan *slot[T, U], o.depth), filled: make(chan *slot[T, U], o.depth),
		sent: make(chan *slot[T, U], o.depth), fetched: make(chan *slot[T, U], o.depth),
	}
	defer p.close()
	if err := p.open(dev); err != nil {
		return err
	}
	go p.stage(nil, p.filled, p.read)
	go p.stage(p.filled, p.sent, p.send)
	go p.stage(p.sent, p.fetched, p.fetch)
	defer func() {
		stop(errGone) // matters only if the sink did not return: then the other stages must end too
		for range p.fetched {
		}
	}()
	if err := p.write(); err != nil {
		stop(err)
	}
	for range p.fetched { // ends when the other stages have returned
	}
	if p.written == p.total {
		return nil
	}
	if f, ok := context.Cause(inner).(*failure); ok && f.of == inner {
		return f.error
	}
	return layer.Interrupted(op, ctx)
}

// failure is why a pipeline ended, if its context did not end first: that may be within another pipeline, which failed. A cause of the context may
// be of any type, also of one that cannot be compared.
type failure struct {
	error
	of context.Context // of the pipeline that failed
}

func (f *failure) Unwrap() error { return f.error }

// slot is the memory of one chunk in work, and the stream on which it is processed.
type slot[T, U buffer.Element] struct {
	in     *buffer.Buffer[T]
	out    *buffer.Buffer[U]
	stream *hal.Stream
	index  int64
	n      int // elements
	got    int // results
}

// run is a running pipeline. A stage receives slots from one channel and sends them to the next. Each channel has room for all slots.
type run[T, U buffer.Element] struct {
	ctx     context.Context
	stop    func(error) // only the first error has an effect
	o       options
	source  Source[T]
	process Process
	sink    Sink[U]

	slots                       []*slot[T, U]
	free, filled, sent, fetched chan *slot[T, U]
	total                       int64 // chunks, -1 until the source has ended
	written                     int64 // chunks that the sink has received
}

func (p *run[T, U]) open(dev *hal.Device) error {
	var options []buffer.Option
	if !layer.SharesHostMemory(dev) {
		options = append(options, buffer.WithPinnedHost(dev))
	}
	for range p.o.depth {
		s := &slot[T, U]{}
		p.slots = append(p.slots, s)
		var err error
		if s.stream, err = dev.NewStream(); err != nil {
			return err
		}
		if s.in, err = buffer.New[T](p.o.chunk, options...); err != nil {
			return err
		}
		if s.out, err = buffer.New[U](p.o.results, options...); err != nil {
			return err
		}
		p.free <- s
	}
	return nil
}

func (p *run[T, U]) close() {
	for _, s := range p.slots {
		if s.in != nil {
			_ = s.in.Close()
		}
		if s.out != nil {
			_ = s.out.Close()
		}
		if s.stream != nil {
			_ = s.stream.Close()
		}
	}
}

// stage runs one stage. When this stage and all stages before it have ended, it closes the channel to the next stage.
func (p *run[T, U]) stage(previous, next chan *slot[T, U], run func() error) {
	err := errGone
	defer func() {
		if err != nil {
			p.stop(err)
		}
		if previous != nil {
			for range previous {
			}
		}
		close(next)
	}()
	err = run()
}

// read fills chunks.
func (p *run[T, U]) read() error {
	for index := int64(0); ; {
		var s *slot[T, U]
		select {
		case s = <-p.free:
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
		last := false
		err := s.in.Overwrite(p.ctx, func(fill []T) (err error) {
			s.n, last, err = p.next(fill)
			return err
		})
		if err != nil {
			return err
		}
		if s.n > 0 {
			s.index = index
			index++
			p.filled <- s
		}
		if last {
			p.total = index
			return nil
		}
	}
}

// next gets one chunk from the source.
func (p *run[T, U]) next(fill []T) (n int, last bool, err error) {
	for range emptyMost {
		n, err = p.source(p.ctx, fill)
		switch {
		case n < 0 || n > len(fill):
			return 0, false, hal.Errorf("pipeline", hal.ErrInvalidArgument, "the source returned %d elements; there may be at most %d", n, len(fill))
		case err == io.EOF:
			return n, true, nil
		case err != nil || n > 0:
			return n, false, err
		case p.ctx.Err() != nil:
			return 0, false, context.Cause(p.ctx)
		}
	}
	return 0, false, io.ErrNoProgress
}

// send copies chunks to the device and calls process for each.
func (p *run[T, U]) send() error {
	for s := range p.filled {
		if p.ctx.Err() != nil {
			return context.Cause(p.ctx)
		}
		if err := p.enqueue(s); err != nil {
			return err
		}
		p.sent <- s
	}
	return nil
}

func (p *run[T, U]) enqueue(s *slot[T, U]) error {
	chunk, err := part(s.in, s.n)
	if err != nil {
		return err
	}
	in, err := chunk.Acquire(p.ctx, s.stream, coherence.Read)
	if err != nil {
		return err
	}
	out, err := s.out.Acquire(p.ctx, s.stream, coherence.Overwrite)
	if err != nil {
		_ = in.Release()
		return err
	}
	released := false
	release := func() error {
		released = true
		return errors.Join(in.Release(), out.Release())
	}
	defer func() {
		if !released {
			_ = release() // the function did not return
		}
	}()
	s.got, err = p.process(Work{Index: s.index, N: s.n, Stream: s.stream, In: in, Results: out})
	failed := release()
	switch {
	case err != nil:
		return err
	case s.got < 0 || s.got > p.o.results:
		return hal.Errorf("pipeline", hal.ErrInvalidArgument, "the process function returned %d results; there may be at most %d", s.got, p.o.results)
	}
	return failed
}

// fetch copies results back to the host.
func (p *run[T, U]) fetch() error {
	for s := range p.sent {
		if s.got > 0 {
			results, err := part(s.out, s.got)
			if err != nil {
				return err
			}
			if err := results.SyncTo(p.ctx, nil); err != nil {
				return err
			}
		}
		p.fetched <- s
	}
	return nil
}

// write passes results to the sink.
func (p *run[T, U]) write() error {
	for s := range p.fetched {
		if p.ctx.Err() != nil {
			return context.Cause(p.ctx)
		}
		if s.got > 0 {
			results, err := part(s.out, s.got)
			if err != nil {
				return err
			}
			if err := results.View(p.ctx, func(r []U) error { return p.sink(p.ctx, r) }); err != nil {
				return err
			}
		}
		p.written++
		p.free <- s
	}
	return nil
}

// part returns the first n elements of a buffer.
func part[T buffer.Element](b *buffer.Buffer[T], n int) (*buffer.Buffer[T], error) {
	if n == b.Len() {
		return b, nil
	}
	return b.Slice(0, n)
}
