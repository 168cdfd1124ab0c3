package adapt_test

import (
	"sync"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// counter is an adaptor of a program's own. It counts the live blocks that passed through it.
type counter struct {
	next pool.Allocator

	mu                   sync.Mutex
	blocks, bytes, total int
}

func count(a pool.Allocator) *counter { return &counter{next: a} }

func (c *counter) add(blocks, bytes, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocks, c.bytes, c.total = c.blocks+blocks, c.bytes+bytes, c.total+total
}

// live returns how many blocks are live, and their bytes.
func (c *counter) live() (blocks, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blocks, c.bytes
}

func (c *counter) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	b, err := c.next.Alloc(stream, kind, size)
	if err != nil {
		return pool.Block{}, err
	}
	c.add(1, int(b.Size()), 1)
	return b.From(c), nil
}

func (c *counter) Free(b pool.Block, stream *hal.Stream) error {
	live, n := b.Valid(), int(b.Size())
	err := c.next.Free(b, stream)
	if live && !b.Valid() { // also if the driver could not free the memory
		c.add(-1, -n, 0)
	}
	return err
}
