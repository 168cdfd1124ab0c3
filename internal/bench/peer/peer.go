package peer

import (
	"fmt"
	"unsafe"
)

// Peer makes raw calls on one device. It is used by one goroutine at a time, between Enter and Leave. Calls that enqueue
// do not wait; Sync does. Sizes are in bytes.
type Peer interface {
	// Enter gets the calling goroutine ready, and Leave waits for what was enqueued and undoes it. They nest.
	Enter() error
	Leave() error

	CopyIn(dst uintptr, src unsafe.Pointer, n uint64) error
	CopyOut(dst unsafe.Pointer, src uintptr, n uint64) error
	Copy(dst, src uintptr, n uint64) error
	Fill(dst uintptr, bits uint32, n uint64) error // n is a multiple of 4
	Sync() error

	AllocFree(n uint64) error // allocates device memory and gives it back
	Record() error            // marks where the stream is
	RecordWait() error        // marks where the stream is, and makes a second stream wait for that

	// Names says which calls an operation makes, for people.
	Names(op Op) string

	Close() error

	current() error // makes the device that of the calling thread
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

// Across returns what copies n bytes between the memories of two devices and waits, and what it calls. reach says that the
// devices are of one vendor and know each other's memory. staging is host memory of n bytes, which is used where there is
// no other way. Enter and Leave of the result take the place of those of the peers.
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
