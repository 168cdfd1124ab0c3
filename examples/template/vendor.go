package template

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// REPLACE this file with calls of the vendor's library. It imitates such a library: opaque handles, status codes,
// calls that may come from any thread. Halyard sees nothing of it.

// status is what every call of the library returns.
type status int32

const (
	statusOK       status = 0
	statusNoMemory status = 2
	statusBadValue status = 3
	statusBroken   status = 70
	statusGone     status = 71
)

// library is the vendor's library, once it is loaded.
type library struct {
	cards []*card

	// before, if set, is called before each call of the library. If it does not return statusOK, the call fails with the status
	// that it returns. Tests set it.
	before func(api string) status
}

// load looks for the vendor's library. The error says what was tried.
func load() (*library, error) { return newLibrary(2, 64<<20), nil }

func newLibrary(cards int, memory uint64) *library {
	l := &library{}
	for range cards {
		l.cards = append(l.cards, &card{lib: l, total: memory})
	}
	return l
}

// card is one piece of hardware.
type card struct {
	lib      *library
	total    uint64 // bytes
	used     atomic.Int64
	contexts atomic.Int64
}

// block is memory on a card, which the host does not see.
type block struct {
	id    uintptr
	mu    sync.RWMutex // orders copies of different queues, as hardware does
	bytes []byte
}

// call stands for a call of the library that does nothing here but may fail.
func (l *library) call(api string) status {
	if l.before == nil {
		return statusOK
	}
	return l.before(api)
}

func (c *card) open() status {
	st := c.lib.call("cardOpen")
	if st == statusOK {
		c.contexts.Add(1)
	}
	return st
}

func (c *card) close() status {
	c.contexts.Add(-1) // gone even if the call reports an error
	return c.lib.call("cardClose")
}

func (c *card) memory() (free, total uint64) { return c.total - uint64(c.used.Load()), c.total }

func (c *card) alloc(size uint64) (*block, status) {
	if st := c.lib.call("memAlloc"); st != statusOK {
		return nil, st
	}
	if uint64(c.used.Add(int64(size))) > c.total {
		c.used.Add(-int64(size))
		return nil, statusNoMemory
	}
	b := &block{id: uintptr(rand.Uint64() | 1), bytes: make([]byte, size)}
	for i := range b.bytes {
		b.bytes[i] = 0xA5 // as on real cards, fresh memory is not zero
	}
	return b, statusOK
}

func (c *card) free(b *block) status {
	c.used.Add(-int64(len(b.bytes)))
	b.bytes = nil
	return c.lib.call("memFree")
}

func (c *card) write(dst *block, off uint64, src []byte) status {
	if st := c.lib.call("memWrite"); st != statusOK {
		return st
	}
	dst.mu.Lock()
	defer dst.mu.Unlock()
	if off+uint64(len(src)) > uint64(len(dst.bytes)) {
		return statusBadValue
	}
	copy(dst.bytes[off:], src)
	return statusOK
}

func (c *card) read(dst []byte, src *block, off uint64) status {
	if st := c.lib.call("memRead"); st != statusOK {
		return st
	}
	src.mu.RLock()
	defer src.mu.RUnlock()
	if off+uint64(len(dst)) > uint64(len(src.bytes)) {
		return statusBadValue
	}
	copy(dst, src.bytes[off:])
	return statusOK
}
