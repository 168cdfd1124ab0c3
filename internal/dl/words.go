package dl

import (
	"sync"
	"unsafe"
)

// Words is a block of heap memory for the out parameters of a call, from a pool, so that a hot path does not allocate one for each call.
// Element i is passed with [Words.At].
type Words [8]uint64

var words = sync.Pool{New: func() any { return new(Words) }}

// GetWords returns a zeroed block.
func GetWords() *Words {
	w := words.Get().(*Words)
	*w = Words{}
	return w
}

// At returns the address of element i, which is valid until Put. The caller must keep the block reachable until the call has returned.
func (w *Words) At(i int) uintptr { return uintptr(unsafe.Pointer(&w[i])) }

// Put returns the block to the pool. Neither the block nor an address inside it may be used afterwards.
func (w *Words) Put() { words.Put(w) }

// sliceAddress returns the address of a slice's memory, which is on the heap. The caller keeps it alive.
func sliceAddress(s []uint64) uintptr { return Address(unsafe.Pointer(unsafe.SliceData(s))) }
