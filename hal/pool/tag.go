package pool

import (
	"slices"
	"sync"

	"github.com/go-halyard/halyard/hal"
)

// tags gives names numbers. Number 0 is the empty name.
type tags struct {
	mu    sync.Mutex
	names []string // from number 1 on
}

func (t *tags) number(name string) uint32 {
	if name == "" {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.names, name); i >= 0 {
		return uint32(i + 1)
	}
	t.names = append(t.names, name)
	return uint32(len(t.names))
}

func (t *tags) name(number uint32) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if number == 0 || int(number) > len(t.names) {
		return ""
	}
	return t.names[number-1]
}

// tagged is a pool whose blocks carry a tag.
type tagged struct {
	pool *Pool
	tag  uint32
}

// WithTag returns an allocator of the pool's memory whose blocks carry a tag, such as "weights".
// Reports and the error of Close name it. Use few tags: a pool never forgets one.
func (p *Pool) WithTag(tag string) Allocator { return tagged{p, p.tags.number(tag)} }

func (t tagged) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (Block, error) {
	return t.pool.alloc(stream, kind, size, t.tag)
}

func (t tagged) Free(b Block, stream *hal.Stream) error { return t.pool.Free(b, stream) }
