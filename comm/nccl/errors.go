package nccl

import (
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// Values of ncclResult_t.
const (
	success         = 0
	unhandledCUDA   = 1
	systemError     = 2
	internalError   = 3
	invalidArgument = 4
	invalidUsage    = 5
	remoteError     = 6
	inProgress      = 7
	timedOut        = 8
)

// kindOf returns the kind of error of a code. NCCL reports invalid usage when ranks do not fit together, for example when two are on one
// device.
func kindOf(code int32) error {
	switch code {
	case invalidArgument:
		return driver.ErrInvalidArgument
	case invalidUsage:
		return driver.ErrMismatch
	case remoteError:
		return driver.ErrRankLost
	case timedOut:
		return driver.ErrTimeout
	}
	return driver.ErrEngine
}

// failure returns the error of a code. comm is the communicator's handle, or 0.
func (l *library) failure(op, api string, code int32, comm uintptr) *driver.Error {
	e := &driver.Error{Op: op, Kind: kindOf(code), Peer: driver.NoPeer, Tag: driver.NoTag, API: api, Class: int(code), Code: int(code),
		Text: dl.GoString(l.call.GetErrorString.Call1(uintptr(code)))}
	if l.call.GetLastError.Valid() {
		e.Detail = dl.GoString(l.call.GetLastError.Call1(comm))
	}
	return e
}
