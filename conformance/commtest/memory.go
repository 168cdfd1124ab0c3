package commtest

import (
	"slices"
	"sync"
	"unsafe"
)

// memory is what a rank has allocated. Blocks that it has freed are kept until the job is closed, the others for ever.
type memory struct {
	mu     sync.Mutex
	blocks []*block // by address
	twice  bool     // the bug GivesMemoryTwice is set
}

type block struct {
	pages []byte
	at    uintptr
	size  uint64 // as asked for
	used  bool
}

func (m *memory) alloc(n uint64) (unsafe.Pointer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.blocks {
		if (!b.used || m.twice) && uint64(len(b.pages)) >= n && uint64(len(b.pages)) < 2*n+pageSize {
			b.used, b.size = true, n
			clear(b.pages)
			return unsafe.Pointer(unsafe.SliceData(b.pages)), nil
		}
	}
	pages, err := mapPages(int((n + pageSize - 1) &^ (pageSize - 1)))
	if err != nil {
		return nil, err
	}
	p := unsafe.Pointer(unsafe.SliceData(pages))
	i, _ := slices.BinarySearchFunc(m.blocks, uintptr(p), byAddress)
	m.blocks = slices.Insert(m.blocks, i, &block{pages: pages, at: uintptr(p), size: n, used: true})
	return p, nil
}

func byAddress(b *block, at uintptr) int {
	switch {
	case b.at < at:
		return -1
	case b.at > at:
		return 1
	}
	return 0
}

func (m *memory) free(p unsafe.Pointer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i, ok := slices.BinarySearchFunc(m.blocks, uintptr(p), byAddress); ok {
		m.blocks[i].used = false
	}
}

// has reports whether n bytes at p lie in one allocation.
func (m *memory) has(p unsafe.Pointer, n uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := slices.BinarySearchFunc(m.blocks, uintptr(p), byAddress)
	if !ok {
		i--
	}
	if i < 0 {
		return false
	}
	b := m.blocks[i]
	off := uint64(uintptr(p) - b.at)
	return b.used && off <= b.size && n <= b.size-off
}

func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.blocks {
		if !b.used { // a block in use may still be read or written, by a stream or an operation that was given up
			unmapPages(b.pages)
		}
	}
	m.blocks = nil
}

const pageSize = 4096
