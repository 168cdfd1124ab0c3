package adapt

import (
	"sync"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// Gauge is a number that goes up and down. In a scope it starts at 0, and so may be negative when more
// is freed in the scope than allocated.
type Gauge struct {
	Current int64
	Peak    int64 // the highest that Current has been
	Total   int64 // of everything that was added
}

func (f *Gauge) add(n int64) {
	f.Current += n
	f.Peak = max(f.Peak, f.Current)
	f.Total += n
}

// include adds a scope that has ended to the one around it.
func (f *Gauge) include(inner Gauge) {
	f.Peak = max(f.Peak, f.Current+inner.Peak)
	f.Current += inner.Current
	f.Total += inner.Total
}

// Counts are the figures of a scope.
type Counts struct {
	Bytes  Gauge // asked for
	Blocks Gauge
}

// Counter counts what passes through it, in scopes that nest.
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

// Pop ends the innermost scope, adds its figures to the scope around it and returns them. The scope that
// was there from the start does not end: that is an error of kind ErrInvalidArgument.
func (c *Counter) Pop() (Counts, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.scopes) - 1
	if last == 0 {
		return Counts{}, hal.Errorf("pop", hal.ErrInvalidArgument, "no scope was pushed")
	}
	ended := c.scopes[last]
	c.scopes = c.scopes[:last]
	around := &c.scopes[last-1]
	around.Bytes.include(ended.Bytes)
	around.Blocks.include(ended.Blocks)
	return ended, nil
}

// Alloc implements [pool.Allocator].
func (c *Counter) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	b, err := c.next.Alloc(stream, kind, size)
	if err != nil {
		return pool.Block{}, err
	}
	n := int64(b.Size())
	c.mu.Lock()
	top := &c.scopes[len(c.scopes)-1]
	top.Bytes.add(n)
	top.Blocks.add(1)
	c.mu.Unlock()
	return b.From(c), nil
}

// Free implements [pool.Allocator].
func (c *Counter) Free(b pool.Block, stream *hal.Stream) error {
	n := int64(b.Size())
	if err := c.next.Free(b, stream); err != nil {
		return err
	}
	c.mu.Lock()
	top := &c.scopes[len(c.scopes)-1]
	top.Bytes.Current -= n
	top.Blocks.Current--
	c.mu.Unlock()
	return nil
}
