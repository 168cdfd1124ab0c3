package mpi

import (
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// kindOf returns the kind of error that a class belongs to.
func kindOf(c errorClass) error {
	switch c {
	case classTruncate:
		return driver.ErrTruncated
	case classProcAborted, classProcFailed, classProcFailedPending, classRevoked:
		return driver.ErrRankLost
	case classNoMem:
		return driver.ErrOutOfMemory
	case classBuffer, classCount, classType, classTag, classComm, classRank, classRequest, classRoot, classGroup, classOp, classArg:
		return driver.ErrInvalidArgument
	}
	return driver.ErrEngine
}

// failure returns the error for a code that a call of MPI has returned, or nil for MPI_SUCCESS. op is the engine's operation, api the call.
func (l *library) failure(op, api string, code int32) *driver.Error {
	if code == 0 {
		return nil
	}
	value := int32(-1)
	class := classUnlisted
	if int32(l.call.ErrorClass.Call2(uintptr(code), uintptr(unsafe.Pointer(&value)))) == 0 {
		class = l.abi.classOf(int(value))
	}
	text := make([]byte, max(512, l.number(maxErrorString))+1)
	var n int32
	if int32(l.call.ErrorString.Call3(uintptr(code), uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&n)))) != 0 {
		n = 0
	}
	return &driver.Error{Op: op, Kind: kindOf(class), API: api, Class: int(value), Code: int(code), Text: string(text[:max(0, min(int(n),
		len(text)))]),
		Peer: driver.NoPeer, Tag: driver.NoTag}
}

// classFailures returns the errors for the codes that are classes of errors, as those of Open MPI are.
func (l *library) classFailures(op, api string) map[int32]*driver.Error {
	known := make(map[int32]*driver.Error, classes)
	for c := classNone + 1; c < classes; c++ {
		if code := int32(l.abi.valueOf(c)); code != none {
			known[code] = l.failure(op, api, code)
		}
	}
	return known
}
