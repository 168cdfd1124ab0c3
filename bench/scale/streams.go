package main

import (
	"errors"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// streams makes n streams, which are closed with the point.
func (p *point) streams() []*hal.Stream {
	list := make([]*hal.Stream, p.n)
	for i := range list {
		list[i] = p.newStream()
	}
	return list
}

func streamsOnMemory(p *point) {
	mem := frame.Get(p.dev.Alloc(hal.KindDevice, 64, 0))
	p.later(mem.Close)
	list := make([]*hal.Stream, p.n)
	p.all("new stream", func(i int) (err error) {
		list[i], err = p.dev.NewStream()
		return err
	})
	fill := func(i int) error { return list[i].Fill(mem.All(), hal.Pattern32(uint32(i))) }
	p.all("fill", fill)
	p.all("fill again", fill)
	p.all("close", func(i int) error { return list[i].Close() })
}

// lease acquires a lease on a stream, and releases it.
func lease(b *buffer.Buffer[uint32], s *hal.Stream, mode coherence.Mode) error {
	l, err := b.TryAcquire(s, mode)
	if err != nil {
		return err
	}
	return l.Release()
}

func streamsOnBuffer(p *point) {
	b, list := p.buffer(64), p.streams()
	p.all("read lease", func(i int) error { return lease(b, list[i], coherence.Read) })
	p.all("write lease", func(i int) error { return lease(b, list[i], coherence.ReadWrite) })
}

// block allocates on a stream and frees.
func block(from *pool.Pool, s *hal.Stream) error {
	b, err := from.Alloc(s, hal.KindDevice, 256)
	if err != nil {
		return err
	}
	return b.Free(s)
}

func streamsOnPool(p *point) {
	from, list := p.pool(), p.streams()
	use := func(i int) error { return block(from, list[i]) }
	p.all("first time", use)
	p.all("again", use)
	p.all("retire", func(i int) error { return from.ForgetStream(list[i]) })
}

// short makes n streams one after another, and uses each.
func (p *point) short(use func(s *hal.Stream) error) {
	p.all("stream", func(int) error {
		s, err := p.dev.NewStream()
		if err != nil {
			return err
		}
		return errors.Join(use(s), s.Sync(p.ctx), s.Close())
	})
}

func shortStreams(p *point) {
	b := p.buffer(64)
	p.short(func(s *hal.Stream) error { return lease(b, s, coherence.Read) })
}

func shortStreamsOnPool(p *point) {
	from := p.pool()
	p.short(func(s *hal.Stream) error { return errors.Join(block(from, s), from.ForgetStream(s)) })
}
