package pipeline

import (
	"context"
	"errors"
	"io"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// The depth of a pipeline. With the default one chunk can be read, one processed, one brought back and one written.
const (
	DefaultDepth = 4
	MaxDepth     = 64
)

// Options are the options of Run.
type Options struct {
	Chunk   int // elements of a chunk, at most; more than 0
	Results int // elements of the results of a chunk, at most; 0 for Chunk
	Depth   int // chunks under way at once, 1 to MaxDepth; 0 for DefaultDepth
}

// Source fills a part of fill, from the start, and returns how many elements that are: they are the next chunk. The
// error io.EOF says that they are the last, if there are any. Returning nothing and no error many times in a row ends the
// pipeline with io.ErrNoProgress. fill must not be kept; its contents are unspecified before.
type Source[T buffer.Element] func(ctx context.Context, fill []T) (n int, err error)

// Sink takes the results of the next chunk, which must be neither changed nor kept.
type Sink[U buffer.Element] func(ctx context.Context, results []U) error

// Process enqueues the work on a chunk, without waiting for it, and returns how many results that work writes, the first elements
// of Out. It must not keep the leases, nor release them.
type Process func(w Work) (results int, err error)

// Work is one chunk on the device.
type Work struct {
	Index   int64        // of the chunk, from 0
	N       int          // elements
	Stream  *hal.Stream  // that the work belongs on
	In      buffer.Lease // of the N elements, for reading
	Results buffer.Lease // of Options.Results elements, to be written
}

// emptyMost is how often in a row a source, or the stream that it reads, may return nothing.
const emptyMost = 100

// errGone is the reason when a function ends its goroutine instead of returning.
var errGone = errors.New("pipeline: a function did not return")

// Run takes everything that source gives through process on the device to sink, in order, and returns nil when the sink has had
// the results of the last chunk.
//
// The three functions run at the same time, each one call at a time: source and process on goroutines of their own, sink on the
// caller's. The first error ends the pipeline: the context that the functions get is cancelled, Run returns when they
// have returned, and the error is that one, as it was returned. When ctx ends it is of kind hal.ErrNotReady and wraps the
// context's. Results that the sink has had then are those of the first chunks, none left out.
//
// Run takes Depth chunks and their results of host memory, page-locked for a device that is not unified, and as much of the
// device's; too little of either is of kind hal.ErrOutOfMemory. When it returns with an error, work that was enqueued may still be running on that memory, which is given back
// after it.
func Run[T, U buffer.Element](ctx context.Context, dev *hal.Device, o Options, source Source[T], process Process, sink Sink[U]) error {
	const op = "pipeline"
	if o.Results == 0 {
		o.Results = o.Chunk
	}
	if o.Depth == 0 {
		o.Depth = DefaultDepth
	}
	switch {
	case dev == nil || source == nil || process == nil || sink == nil:
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil device or function")
	case o.Chunk <= 0 || o.Results <= 0:
		return hal.Errorf(op, hal.ErrInvalidArgument, "chunks of %d elements and %d results", o.Chunk, o.Results)
	case o.Depth < 1 || o.Depth > MaxDepth:
		return hal.Errorf(op, hal.ErrInvalidArgument, "depth %d; 1 to %d", o.Depth, MaxDepth)
	case ctx.Err() != nil:
		return hal.Interrupted(op, ctx)
	}
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p := &run[T, U]{
		ctx: inner, stop: stop, o: o, source: source, process: process, sink: sink, total: -1,
		free: make(chan *slot[T, U], o.Depth), filled: make(chan *slot[T, U], o.Depth),
		sent: make(chan *slot[T, U], o.Depth), fetched: make(chan *slot[T, U], o.Depth),
	}
	defer p.close()
	if err := p.open(dev); err != nil {
		return err
	}
	go p.stage(nil, p.filled, p.read)
	go p.stage(p.filled, p.sent, p.send)
	go p.stage(p.sent, p.fetched, p.fetch)
	defer func() {
		stop(errGone) // counts if the sink has ended this goroutine, and then lets the others end
		for range p.fetched {
		}
	}()
	if err := p.write(); err != nil {
		stop(err)
	}
	for range p.fetched { // until the others have returned
	}
	cause := context.Cause(inner)
	switch {
	case p.written == p.total:
		return nil
	case ctx.Err() != nil && cause == context.Cause(ctx):
		return hal.Interrupted(op, ctx)
	}
	return cause
}

// slot is the memory of one chunk on its way, and the stream that it is processed on.
type slot[T, U buffer.Element] struct {
	in     *buffer.Buffer[T]
	out    *buffer.Buffer[U]
	stream *hal.Stream
	index  int64
	n      int // elements
	got    int // results
}

// run is a pipeline at work. A stage takes slots from one channel and gives them to the next, which has room for all.
type run[T, U buffer.Element] struct {
	ctx     context.Context
	stop    context.CancelCauseFunc // the first reason counts
	o       Options
	source  Source[T]
	process Process
	sink    Sink[U]

	slots                       []*slot[T, U]
	free, filled, sent, fetched chan *slot[T, U]
	total                       int64 // chunks, -1 until the source has ended
	written                     int64 // chunks that the sink has had
}

func (p *run[T, U]) open(dev *hal.Device) error {
	var options []buffer.Option
	if !dev.SharesHostMemory() {
		options = append(options, buffer.WithPinnedHost(dev))
	}
	for range p.o.Depth {
		s := &slot[T, U]{}
		p.slots = append(p.slots, s)
		var err error
		if s.stream, err = dev.NewStream(hal.StreamOptions{}); err != nil {
			return err
		}
		if s.in, err = buffer.New[T](p.o.Chunk, options...); err != nil {
			return err
		}
		if s.out, err = buffer.New[U](p.o.Results, options...); err != nil {
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

// stage runs one stage on a goroutine of its own, and tells the next one when it has ended, as have all before it.
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

// next asks the source for one chunk.
func (p *run[T, U]) next(fill []T) (n int, last bool, err error) {
	for range emptyMost {
		n, err = p.source(p.ctx, fill)
		switch {
		case n < 0 || n > len(fill):
			return 0, false, hal.Errorf("pipeline", hal.ErrInvalidArgument, "the source filled %d of %d elements", n, len(fill))
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

// send brings chunks to the device and has them processed.
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
	case s.got < 0 || s.got > p.o.Results:
		return hal.Errorf("pipeline", hal.ErrInvalidArgument, "%d results of at most %d", s.got, p.o.Results)
	}
	return failed
}

// fetch brings results back.
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

// write gives results to the sink.
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

// part is the first n elements of a buffer.
func part[T buffer.Element](b *buffer.Buffer[T], n int) (*buffer.Buffer[T], error) {
	if n == b.Len() {
		return b, nil
	}
	return b.Slice(0, n)
}
