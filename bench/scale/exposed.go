package main

import (
	"errors"

	"github.com/go-halyard/halyard/hal"
)

// exposed calls Bytes on n memories. After that every copy from host memory has to check whether its source is one of them.
func exposed(p *point) error {
	list := make([]*hal.Memory, p.n)
	for i := range list {
		var err error
		if list[i], err = p.dev.Alloc(hal.KindShared, 64, 0); err != nil {
			return err
		}
	}
	target, err := p.dev.Alloc(hal.KindDevice, 64, 0)
	if err != nil {
		return err
	}
	p.later(target.Close)
	const copies = 1000
	src := make([]byte, 64)
	return errors.Join(
		p.time("Bytes", p.n, each(p.n, func(i int) error {
			_, err := list[i].Bytes()
			return err
		})),
		p.time("copy in beside them", copies, each(copies, func(int) error { return p.stream.CopyIn(target.All(), src) })),
		p.stream.Sync(p.ctx),
		p.time("Close", p.n, each(p.n, func(i int) error { return list[i].Close() })))
}
