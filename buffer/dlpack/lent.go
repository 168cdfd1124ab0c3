package dlpack

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/dlpack/internal/abi"
)

// inline is the largest rank for which shape and strides are stored in the loan itself.
const inline = 4

// loan is a tensor that is lent to C, with its struct. C has the struct's address, so the loan stays in the table
// lent, and pinned, until the deleter has been called.
type loan struct {
	versioned cVersioned
	legacy    cLegacy
	dims      [2 * inline]int64
	pin       runtime.Pinner

	onHost   buffer.HostLease
	onDevice buffer.Leases
	done     func(error)
	taken    atomic.Bool // Import or Delete was called
}

// loans are the loans whose deleter has not been called, by the address of their struct.
type loans struct {
	mu   sync.Mutex
	open map[uintptr]*loan
}

var lent = loans{open: map[uintptr]*loan{}}

// begin fills in the struct of a loan, whose lease has been taken, and adds the loan to the table.
func (l *loans) begin(x *loan, t cTensor, shape, strides []int, flags uint64, legacy bool) Managed {
	n := len(shape)
	dims := x.dims[:]
	if n > inline {
		dims = make([]int64, 2*n)
		x.pin.Pin(unsafe.SliceData(dims))
	}
	for i, e := range shape {
		dims[i], dims[n+i] = int64(e), int64(strides[i])
	}
	x.pin.Pin(x)
	if n > 0 {
		t.shape, t.strides = address(&dims[0]), address(&dims[n])
	}
	t.ndim = int32(n)
	m := Managed{Legacy: legacy, loan: x}
	if legacy {
		x.legacy = cLegacy{tensor: t, deleter: deleterEntry()}
		m.Address = address(&x.legacy)
	} else {
		x.versioned = cVersioned{version: cVersion{major, minor}, deleter: deleterEntry(), flags: flags, tensor: t}
		m.Address = address(&x.versioned)
	}
	l.mu.Lock()
	l.open[m.Address] = x
	l.mu.Unlock()
	return m
}

// end is the deleter. If no open loan has the address, it does nothing. So a second call for the same struct does no
// harm, unless another loan has the address by then.
func (l *loans) end(self uintptr) {
	l.mu.Lock()
	x, found := l.open[self]
	delete(l.open, self)
	l.mu.Unlock()
	if found {
		x.end()
	}
}

// has reports whether a loan is open.
func (l *loans) has(self uintptr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.open[self]
	return ok
}

// end releases the lease and everything else that the loan holds.
func (x *loan) end() {
	var err error
	defer func() { // also if an observer panics in Release
		x.pin.Unpin()
		if x.done != nil {
			x.done(err)
		}
	}()
	if x.onDevice != (buffer.Leases{}) {
		err = x.onDevice.Release()
	} else {
		err = x.onHost.Release()
	}
}

// Outstanding returns the number of exported tensors whose deleter has not been called.
func Outstanding() int {
	lent.mu.Lock()
	defer lent.mu.Unlock()
	return len(lent.open)
}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// The structs of DLPack as C lays them out where a pointer has 8 bytes. Pointers are stored as uintptr: the memory that
// they point to is outside the Go heap, or pinned.

type cVersion struct{ major, minor uint32 }

type cTensor struct {
	data       uintptr
	device     abi.Device
	ndim       int32
	dtype      abi.DataType
	shape      uintptr // ndim numbers of 64 bits
	strides    uintptr // ndim numbers of 64 bits, or 0 for row-major without gaps
	byteOffset uint64
}

// cLegacy is the struct from before DLPack 1.0.
type cLegacy struct {
	tensor  cTensor
	context uintptr
	deleter uintptr
}

// cVersioned is the struct since DLPack 1.0. The fields before tensor have the same place in every version.
type cVersioned struct {
	version cVersion
	context uintptr
	deleter uintptr
	flags   uint64
	tensor  cTensor
}

const (
	major = 1 // the version that this package reads and writes
	minor = 0 // the first with everything that this package writes

	flagReadOnly = 1 << 0
	flagCopied   = 1 << 1
)
