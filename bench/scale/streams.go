package main

import (
	"errors"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// streams makes n streams, which are closed with the point.
func (p *point) streams() ([]*hal.Stream, error) {
	list := make([]*hal.Stream, p.n)
	for i := range list {
		var err error
		if list[i], err = p.newStream(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func streamsOnMemory(p *point) error {
	mem, err := p.dev.Alloc(hal.KindDevice, 64, 0)
	if err != nil {
		return err
	}
	p.later(mem.Close)
	list := make([]*hal.Stream, p.n)
	err = p.time("new stream", p.n, each(p.n, func(i int) (err error) {
		list[i], err = p.dev.NewStream()
		return err
	}))
	if err != nil {
		return err
	}
	fill := func(i int) error { return list[i].Fill(mem.All(), hal.Pattern32(uint32(i))) }
	return errors.Join(
		p.time("fill", p.n, each(p.n, fill)),
		p.time("fill again", p.n, each(p.n, fill)),
		p.time("close", p.n, each(p.n, func(i int) error { return list[i].Close() })))
}

func streamsOnBuffer(p *point) error {
	b, err := buffer.From(make([]uint32, 64))
	if err != nil {
		return err
	}
	p.later(b.Close)
	list, err := p.streams()
	if err != nil {
		return err
	}
	lease := func(mode coherence.Mode) func(int) error {
		return func(i int) error {
			l, err := b.TryAcquire(list[i], mode)
			if err != nil {
				return err
			}
			return l.Release()
		}
	}
	return errors.Join(
		p.time("read lease", p.n, each(p.n, lease(coherence.Read))),
		p.time("write lease", p.n, each(p.n, lease(coherence.ReadWrite))))
}

// newPool is a pool that is closed with the point.
func (p *point) newPool() (*pool.Pool, error) {
	got, err := pool.New(p.dev, pool.WithChunk(1<<20))
	if err == nil {
		p.later(got.Close)
	}
	return got, err
}

// block allocates on a stream and frees.
func block(from *pool.Pool, s *hal.Stream) error {
	b, err := from.Alloc(s, hal.KindDevice, 256)
	if err != nil {
		return err
	}
	return b.Free(s)
}

func streamsOnPool(p *point) error {
	from, err := p.newPool()
	if err != nil {
		return err
	}
	list, err := p.streams()
	if err != nil {
		return err
	}
	use := func(i int) error { return block(from, list[i]) }
	return errors.Join(
		p.time("first time", p.n, each(p.n, use)),
		p.time("again", p.n, each(p.n, use)),
		p.time("retire", p.n, each(p.n, func(i int) error { return from.ForgetStream(list[i]) })))
}

// short makes n streams one after another, and uses each.
func (p *point) short(use func(s *hal.Stream) error) error {
	return p.time("stream", p.n, each(p.n, func(int) error {
		s, err := p.dev.NewStream()
		if err != nil {
			return err
		}
		return errors.Join(use(s), s.Sync(p.ctx), s.Close())
	}))
}

func shortStreams(p *point) error {
	b, err := buffer.From(make([]uint32, 64))
	if err != nil {
		return err
	}
	p.later(b.Close)
	return p.short(func(s *hal.Stream) error {
		l, err := b.TryAcquire(s, coherence.Read)
		if err != nil {
			return err
		}
		return l.Release()
	})
}

func shortStreamsOnPool(p *point) error {
	from, err := p.newPool()
	if err != nil {
		return err
	}
	return p.short(func(s *hal.Stream) error { return errors.Join(block(from, s), from.ForgetStream(s)) })
}
