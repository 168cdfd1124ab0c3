package mpi

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/pages"
)

// memory gives out mapped memory. Freed memory stays mapped, because a network's library may have registered it, and is given out again.
type memory struct {
	mu   sync.Mutex
	free map[uint64][]unsafe.Pointer // by size, whole pages
}

func whole(n uint64) uint64 {
	page := uint64(pages.Size)
	return (n + page - 1) / page * page
}

// alloc returns n > 0 zeroed bytes that start on a page.
func (m *memory) alloc(op string, n uint64) (unsafe.Pointer, error) {
	size := whole(n)
	if size < n || size > 1<<62 {
		return nil, driver.Errorf(op, driver.ErrOutOfMemory, "%d bytes", n)
	}
	m.mu.Lock()
	if list := m.free[size]; len(list) > 0 {
		p := list[len(list)-1]
		m.free[size] = list[:len(list)-1]
		m.mu.Unlock()
		clear(unsafe.Slice((*byte)(p), size))
		return p, nil
	}
	m.mu.Unlock()
	b, err := pages.Map(size)
	if err != nil {
		return nil, &driver.Error{Op: op, Kind: driver.ErrOutOfMemory, Detail: fmt.Sprintf("%d bytes", n), Err: err, Peer: driver.NoPeer,
			Tag: driver.NoTag}
	}
	return unsafe.Pointer(unsafe.SliceData(b)), nil
}

func (m *memory) release(p unsafe.Pointer, n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.free == nil {
		m.free = map[uint64][]unsafe.Pointer{}
	}
	size := whole(n)
	m.free[size] = append(m.free[size], p)
}

// block is mapped memory; p is nil for none.
type block struct {
	p unsafe.Pointer
	n uint64
}

// drop releases a block.
func (m *memory) drop(b *block) {
	if b.p != nil {
		m.release(b.p, b.n)
		*b = block{}
	}
}

// slot is the memory of a request that C uses: what MPI writes to while the request is under way, and the arguments of calls. It is mapped
// memory.
type slot struct {
	handle uint64 // of the size that the ABI has
	flag   int32
	_      int32
	status [32]byte
	bytes  int64
	found  uint64 // the handle of a message that MPI_Improbe has found
	calls  dl.Sequence
}

// scratch is what one call of Test needs. It is in mapped memory.
type scratch struct {
	handles  [scratchSize]uint64 // packed, each of the size that the ABI has
	indices  [scratchSize]int32
	statuses [scratchSize * 32]byte // packed
	count    int32
	flag     int32
}

const scratchSize = 64

// pool is a list of pieces of mapped memory of one type.
type pool[T any] struct {
	mu   sync.Mutex
	free []*T
}

func (p *pool[T]) get(m *memory) (*T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		var t T
		size := uint64(unsafe.Sizeof(t)+63) / 64 * 64
		block := max(whole(size), 1<<16)
		b, err := m.alloc("slab", block)
		if err != nil {
			return nil, err
		}
		for at := uint64(0); at+size <= block; at += size {
			p.free = append(p.free, (*T)(unsafe.Add(b, at)))
		}
	}
	t := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return t, nil
}

func (p *pool[T]) put(t *T) {
	p.mu.Lock()
	p.free = append(p.free, t)
	p.mu.Unlock()
}
