package peer

import (
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
)

// host makes calls of Go itself. There are no streams: everything is done when the call returns.
type host struct {
	mu, second sync.Mutex
	marks      uint64
	kept       []byte
}

// Host returns the peer of the host's devices.
func Host() Peer { return &host{} }

var hostNames = names{
	CopyIn: "copy", CopyOut: "copy", Copy: "copy", Fill: "copy, doubling", Sync: "",
	AllocFree: "make", Record: "sync.Mutex", RecordWait: "two sync.Mutex",
}

func (h *host) Names(op Op) string { return hostNames[op] }

func (h *host) Enter() error   { return nil }
func (h *host) Leave() error   { return nil }
func (h *host) Sync() error    { return nil }
func (h *host) Close() error   { return nil }
func (h *host) current() error { return nil }

func pointer(addr uintptr) unsafe.Pointer { return dl.Pointer(addr) }

func bytesAt(p unsafe.Pointer, n uint64) []byte { return unsafe.Slice((*byte)(p), n) }

func (h *host) CopyIn(dst uintptr, src unsafe.Pointer, n uint64) error {
	copy(bytesAt(pointer(dst), n), bytesAt(src, n))
	return nil
}

func (h *host) CopyOut(dst unsafe.Pointer, src uintptr, n uint64) error {
	copy(bytesAt(dst, n), bytesAt(pointer(src), n))
	return nil
}

func (h *host) Copy(dst, src uintptr, n uint64) error {
	copy(bytesAt(pointer(dst), n), bytesAt(pointer(src), n))
	return nil
}

// fillChunk is the largest source of a copy in Fill. A source that stays in the nearest cache is the fastest, as in bytes.Repeat.
const fillChunk = 8 << 10

func (h *host) Fill(dst uintptr, bits uint32, n uint64) error {
	b := bytesAt(pointer(dst), n)
	*(*uint32)(unsafe.Pointer(&b[0])) = bits
	for done := 4; done < len(b); {
		done += copy(b[done:], b[:min(done, fillChunk)])
	}
	return nil
}

func (h *host) AllocFree(n uint64) error {
	h.kept = make([]byte, n)
	return nil
}

func (h *host) Record() error {
	h.mu.Lock()
	h.marks++
	h.mu.Unlock()
	return nil
}

func (h *host) RecordWait() error {
	h.mu.Lock()
	h.marks++
	h.mu.Unlock()
	h.second.Lock()
	h.marks++
	h.second.Unlock()
	return nil
}

// Locked is a slice behind a lock, which a program without buffers would share between its goroutines.
type Locked struct {
	mu   sync.RWMutex
	data []float32
}

// NewLocked returns n zeros behind a lock.
func NewLocked(n int) *Locked { return &Locked{data: make([]float32, n)} }

// View calls fn on the data.
func (l *Locked) View(fn func([]float32) error) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return fn(l.data)
}
