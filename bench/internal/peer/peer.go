package peer

import (
	"fmt"
	"unsafe"
)

// Peer makes raw calls on one device. It is used by one goroutine at a time, between Enter and Leave. Calls that enqueue
// do not wait; Sync does. Sizes are in bytes.
type Peer interface {
	// Enter prepares the calling goroutine. Leave waits for all enqueued work and undoes Enter. Pairs may be nested.
	Enter() error
	Leave() error

	CopyIn(dst uintptr, src unsafe.Pointer, n uint64) error
	CopyOut(dst unsafe.Pointer, src uintptr, n uint64) error
	Copy(dst, src uintptr, n uint64) error
	Fill(dst uintptr, bits uint32, n uint64) error // n is a multiple of 4
	Sync() error

	AllocFree(n uint64) error // allocates device memory and gives it back
	Record() error            // records an event on the stream
	RecordWait() error        // records an event, and makes a second stream wait for it

	Launcher

	// Names returns the names of the calls that an operation makes, for display.
	Names(op Op) string

	Close() error

	current() error // makes the device current on the calling thread
}

// Op is an operation of a Peer.
type Op uint8

// The operations.
const (
	CopyIn Op = iota
	CopyOut
	Copy
	Fill
	Sync
	AllocFree
	Record
	RecordWait
	numOps
)

// names are the calls of a vendor, by operation.
type names [numOps]string

// StatusError is a status other than success.
type StatusError struct {
	Call   string
	Status int64
}

func (e *StatusError) Error() string { return fmt.Sprintf("%s: status %d", e.Call, e.Status) }

// Across returns an operation that copies n bytes between the memories of two devices and waits, and the names of its
// calls. reach says that the devices are of one vendor and can access each other's memory. staging is host memory of n
// bytes, through which the copy goes where it cannot go directly. The caller calls Enter of both peers before the
// operation and Leave of both afterwards.
func Across(dst, src Peer, reach bool, to, from uintptr, staging unsafe.Pointer, n uint64) (op func() error, what string) {
	dstHost, srcHost := isHost(dst), isHost(src)
	if a, ok := dst.(*gpu); ok && reach {
		if b, ok := src.(*gpu); ok && a.CopyPeer.Valid() {
			return func() error {
				if err := a.copyFrom(b, to, from, n); err != nil {
					return err
				}
				return a.Sync()
			}, a.names.copyPeer + ", " + a.Names(Sync)
		}
	}
	switch {
	case dstHost && srcHost:
		return func() error { return dst.Copy(to, from, n) }, dst.Names(Copy)
	case srcHost:
		at := pointer(from)
		return func() error {
			if err := dst.CopyIn(to, at, n); err != nil {
				return err
			}
			return dst.Sync()
		}, dst.Names(CopyIn) + ", " + dst.Names(Sync)
	case dstHost:
		at := pointer(to)
		return func() error {
			if err := src.CopyOut(at, from, n); err != nil {
				return err
			}
			return src.Sync()
		}, src.Names(CopyOut) + ", " + src.Names(Sync)
	}
	return func() error {
		if err := src.current(); err != nil {
			return err
		}
		if err := src.CopyOut(staging, from, n); err != nil {
			return err
		}
		if err := src.Sync(); err != nil {
			return err
		}
		if err := dst.current(); err != nil {
			return err
		}
		if err := dst.CopyIn(to, staging, n); err != nil {
			return err
		}
		return dst.Sync()
	}, src.Names(CopyOut) + ", then " + dst.Names(CopyIn)
}

func isHost(p Peer) bool {
	_, ok := p.(*host)
	return ok
}
