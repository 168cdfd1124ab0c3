package adapt

import (
	"errors"
	"sync"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// Gauge is a number that goes up and down. In a scope it starts at 0, and so may be negative when more
// is freed in the scope than allocated.
type Gauge struct {
	Current int64
	Peak    int64 // the highest that Current has been
	Total   int64 // the sum of everything that was added
}

func (f *Gauge) add(n int64) {
	f.Current += n
	f.Peak = max(f.Peak, f.Current)
	f.Total += n
}

func (f *Gauge) include(inner Gauge) {
	f.Peak = max(f.Peak, f.Current+inner.Peak)
	f.Current += inner.Current
	f.Total += inner.Total
}

// Counts are the figures of a scope.
type Counts struct {
	Bytes    Gauge // requested bytes
	Blocks   Gauge
	Failures uint64 // allocations that failed with ErrOutOfMemory
}

func (c *Counts) allocated(bytes uint64) {
	c.Bytes.add(int64(bytes))
	c.Blocks.add(1)
}

func (c *Counts) freed(bytes uint64) {
	c.Bytes.Current -= int64(bytes)
	c.Blocks.Current--
}

// include adds a scope that has ended to the one around it.
func (c *Counts) include(inner Counts) {
	c.Bytes.include(inner.Bytes)
	c.Blocks.include(inner.Blocks)
	c.Failures += inner.Failures
}

// Counter is an allocator that counts what passes through it, in scopes that nest.
type Counter struct {
	next pool.Allocator

	mu     sync.Mutex
	scopes []Counts
}

// Count returns an allocator that counts, with one scope open.
func Count(a pool.Allocator) *Counter { return &Counter{next: a, scopes: make([]Counts, 1)} }

// Counts returns the figures of the innermost scope.
func (c *Counter) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.scopes[len(c.scopes)-1]
}

// Push opens a scope, and returns the figures of the one around it so far.
func (c *Counter) Push() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scopes = append(c.scopes, Counts{})
	return c.scopes[len(c.scopes)-2]
}

// Pop ends the innermost scope, adds its figures to the scope around it and returns them. The first scope
// cannot be ended: that is an error of kind ErrInvalidArgument.
func (c *Counter) Pop() (Counts, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.scopes) - 1
	if last == 0 {
		return Counts{}, hal.Errorf("pop", hal.ErrInvalidArgument, "Pop without Push")
	}
	ended := c.scopes[last]
	c.scopes = c.scopes[:last]
	c.scopes[last-1].include(ended)
	return ended, nil
}

// Alloc implements [pool.Allocator].
func (c *Counter) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	b, err := c.next.Alloc(stream, kind, size)
	c.mu.Lock()
	top := &c.scopes[len(c.scopes)-1]
	switch {
	case err == nil:
		top.allocated(b.Size())
	case errors.Is(err, hal.ErrOutOfMemory):
		top.Failures++
	}
	c.mu.Unlock()
	if err != nil {
		return pool.Block{}, err
	}
	return b.From(c), nil
}

// Free implements [pool.Allocator].
func (c *Counter) Free(b pool.Block, stream *hal.Stream) error {
	n := b.Size()
	err := c.next.Free(b, stream)
	if ended(b, n, err) {
		c.mu.Lock()
		c.scopes[len(c.scopes)-1].freed(n)
		c.mu.Unlock()
	}
	return err
}
