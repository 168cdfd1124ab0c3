package hal

import "github.com/go-halyard/halyard/hal/driver"

// Region is a range of bytes of one memory. It is a plain value, cheap to copy; its bounds are checked when it is used.
type Region struct {
	Mem *Memory
	Off uint64 // bytes from the start of the memory
	Len uint64 // bytes
}

// Region returns the n bytes that begin at offset off. The bounds are checked when the region is used.
func (m *Memory) Region(off, n uint64) Region { return Region{Mem: m, Off: off, Len: n} }

// All returns the region of the whole memory.
func (m *Memory) All() Region { return Region{Mem: m, Len: m.Size()} }

// withoutMemory is the error text for a region without a memory.
const withoutMemory = "zero Region, which names no memory; the Region of a released lease is zero"

// Sub returns the n bytes of r that begin at offset off from the start of r. The error is of kind
// ErrOutOfRange if they do not lie within r, and ErrInvalidArgument if r is the zero Region.
func (r Region) Sub(off, n uint64) (Region, error) {
	if r.Mem == nil {
		return Region{}, Errorf("region", ErrInvalidArgument, "%s", withoutMemory)
	}
	if off > r.Len || n > r.Len-off {
		return Region{}, Errorf("region", ErrOutOfRange, "[%d, %d+%d) is outside a region of %d bytes", off, off, n, r.Len)
	}
	return Region{Mem: r.Mem, Off: r.Off + off, Len: n}, nil
}

// inside reports whether the region lies within its memory.
func (r *Region) inside() bool {
	size := r.Mem.s.size
	return r.Off <= size && r.Len <= size-r.Off
}

func (r *Region) raw() driver.Region {
	return driver.Region{Mem: r.Mem.s.drv, Off: r.Off, Len: r.Len}
}

func (r *Region) outside(op string) error {
	return r.Mem.s.dev.Failure(op, ErrOutOfRange, "[%d, %d+%d) is outside a memory of %d bytes", r.Off, r.Off, r.Len, r.Mem.s.size)
}

// overlaps reports whether the regions share bytes. Both must lie within their memories.
func (r *Region) overlaps(other *Region) bool {
	return r.Mem.s == other.Mem.s && r.Off < other.Off+other.Len && other.Off < r.Off+r.Len
}

func (r *Region) overlapping(op string, src *Region) error {
	return r.Mem.s.dev.Failure(op, ErrOverlap, "source [%d, %d) and destination [%d, %d) of one memory", src.Off, src.Off+src.Len, r.Off, r.Off+r.Len)
}
