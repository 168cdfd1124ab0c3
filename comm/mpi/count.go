package mpi

import (
	"math"
	"unsafe"
)

// longest is the largest count of a C int. A test makes it smaller.
var longest uint64 = math.MaxInt32

func (e *engine) maxCount() uint64 { return longest }

// chunkBytes is the size of the datatype that long messages are made of.
const chunkBytes = 1 << 16

// long makes a call on n bytes, where n does not fit into a C int: on one element of a datatype that is n bytes long. If the call fails,
// the request is recycled.
func (e *engine) long(r *request, n uint64, call func(count, datatype uintptr) uintptr) error {
	t, err := e.longType(r.op, n)
	if err != nil {
		e.recycle(r)
		return err
	}
	e.enter()
	code := int32(call(1, e.lib.loadHandle(unsafe.Pointer(t))))
	e.leave()
	e.freeType(t)
	if code != 0 {
		return e.refused(r, code)
	}
	return nil
}

// longType returns a new datatype of n bytes without gaps: chunks, and then the bytes that are left.
func (e *engine) longType(op string, n uint64) (*uint64, error) {
	chunk, err := e.chunkType(op)
	if err != nil {
		return nil, err
	}
	lib := e.lib
	lengths := &[2]int32{int32(n / chunkBytes), int32(n % chunkBytes)}
	offsets := &[2]int64{0, int64(n / chunkBytes * chunkBytes)}
	types := &[2]uint64{}
	lib.storeHandle(unsafe.Pointer(types), chunk)
	lib.storeHandle(unsafe.Add(unsafe.Pointer(types), lib.layout.handle), lib.handles[typeByte])
	made := new(uint64)
	e.enter()
	defer e.leave()
	if err := lib.failure(op, "MPI_Type_create_struct", int32(lib.call.TypeCreateStruct.Call5(2, uintptr(unsafe.Pointer(lengths)),
		uintptr(unsafe.Pointer(offsets)),
		uintptr(unsafe.Pointer(types)), uintptr(unsafe.Pointer(made))))); err != nil {
		return nil, err
	}
	if err := lib.failure(op, "MPI_Type_commit", int32(lib.call.TypeCommit.Call1(uintptr(unsafe.Pointer(made))))); err != nil {
		return nil, err
	}
	return made, nil
}

// freeType frees a datatype. Communication that still uses it is not disturbed (MPI 4.1, section 5.1.9).
func (e *engine) freeType(t *uint64) {
	e.enter()
	defer e.leave()
	e.lib.call.TypeFree.Call1(uintptr(unsafe.Pointer(t)))
}

func (e *engine) chunkType(op string) (uintptr, error) {
	e.chunkMu.Lock()
	defer e.chunkMu.Unlock()
	if t := e.chunk.Load(); t != 0 {
		return t, nil
	}
	lib, made := e.lib, new(uint64)
	e.enter()
	defer e.leave()
	if err := lib.failure(op, "MPI_Type_contiguous", int32(lib.call.TypeContiguous.Call3(chunkBytes, lib.handles[typeByte],
		uintptr(unsafe.Pointer(made))))); err != nil {
		return 0, err
	}
	if err := lib.failure(op, "MPI_Type_commit", int32(lib.call.TypeCommit.Call1(uintptr(unsafe.Pointer(made))))); err != nil {
		return 0, err
	}
	t := e.lib.loadHandle(unsafe.Pointer(made))
	e.chunk.Store(t)
	return t, nil
}
