//go:build opencl && linked && cgo

package opencl

// go-gl/cl links with -lCL. The linker finds it in the folder lib: a script that names the system's
// OpenCL library.

// #cgo linux LDFLAGS: -L${SRCDIR}/lib
import "C"

import (
	"os"
	"unsafe"

	"github.com/go-gl/cl/v1.2/cl"

	"github.com/go-halyard/halyard/internal/dl"
)

// bindTable fills the table from go-gl/cl, which has the calls of OpenCL 1.2. Newer calls and extensions come from the
// loaded library. So do callbacks, because go-gl/cl would store Go pointers in C. If the environment names a library,
// all calls come from that library.
func bindTable() (*table, error) {
	t, err := loadTable()
	if err != nil || os.Getenv(libraryEnv) != "" {
		return t, err
	}
	link(t)
	linkByHand(t)
	return t, nil
}

// linkedContext has the layout of the struct that cl.Context points to: the handle, a function and an
// interface.
type linkedContext struct {
	handle uintptr
	_      [3]uintptr
}

func clContext(h uintptr) cl.Context { return cl.Context(unsafe.Pointer(&linkedContext{handle: h})) }

// clEvent returns a cl.Event, which is a handle and a slice, 32 bytes in all. For C a list of events is an array of
// handles, so a pointer to a cl.Event is a valid list of one event.
func clEvent(h uintptr) cl.Event {
	words := [4]uintptr{h}
	return *(*cl.Event)(unsafe.Pointer(&words))
}

// linkByHand replaces the calls of the table that do not pass their arguments as they are.
func linkByHand(t *table) {
	t.createContext = func(properties []uintptr, device uintptr) (uintptr, status) {
		var st cl.ErrorCode
		c := cl.CreateContext((*cl.ContextProperties)(unsafe.Pointer(unsafe.SliceData(properties))), 1,
			(*cl.DeviceId)(unsafe.Pointer(&device)), nil, nil, &st)
		return (*linkedContext)(unsafe.Pointer(c)).handle, status(st)
	}
	loaded := t.setKernelArg
	t.setKernelArg = func(kernel uintptr, index uint32, n uint64, value unsafe.Pointer) status {
		w := dl.GetWords()
		defer w.Put()
		switch {
		case value == nil:
			return status(cl.SetKernelArg(cl.Kernel(dl.Pointer(kernel)), index, n, nil))
		case n > uint64(unsafe.Sizeof(*w)):
			return loaded(kernel, index, n, value)
		}
		// cgo checks the whole object that contains the value and would find Go pointers in it, so C gets
		// a copy of the value.
		copy(unsafe.Slice((*byte)(unsafe.Pointer(w)), n), unsafe.Slice((*byte)(value), n))
		return status(cl.SetKernelArg(cl.Kernel(dl.Pointer(kernel)), index, n, unsafe.Pointer(w)))
	}
}
