package nccl

import (
	"context"
	"unsafe"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// ID is NCCL's unique id, by which the ranks of a communicator find each other. One rank makes it, and sends it to the others by any means.
type ID [128]byte

// NewID makes an id for a communicator of devices of dev's backend. The process that made it must not end before all ranks have joined.
func NewID(dev *hal.Device) (ID, error) {
	const op = "NewID"
	l, err := libraryOf(op, dev)
	if err != nil {
		return ID{}, err
	}
	return l.newID(op)
}

func (l *library) newID(op string) (ID, error) {
	block := new([16]uint64)
	code := int32(l.call.GetUniqueID.Call1(dl.Address(unsafe.Pointer(block))))
	if code != success {
		return ID{}, l.failure(op, "ncclGetUniqueId", code, 0)
	}
	return ID(raw(block)), nil
}

// libraryOf returns the library for a device.
func libraryOf(op string, dev *hal.Device) (*library, error) {
	if dev == nil {
		return nil, driver.Errorf(op, driver.ErrInvalidArgument, "nil device")
	}
	return load(op, dev.Info().Backend)
}

// New makes a communicator of all ranks of c. Each rank gives a device of its own. All ranks call it. It waits for them until ctx ends. If
// one of them cannot take part, the call fails at all of them.
func New(ctx context.Context, c *comm.Comm, dev *hal.Device) (*Comm, error) {
	const op = "New"
	if c == nil {
		return nil, driver.Errorf(op, driver.ErrInvalidArgument, "nil communicator")
	}
	var id ID
	l, err := libraryOf(op, dev)
	if err == nil && c.Rank() == 0 {
		id, err = l.newID(op)
	}
	unable := []int32{0}
	if err != nil {
		unable[0] = 1
	}
	if e := comm.AllreduceSlice(ctx, c, unable, comm.Sum); e != nil && err == nil {
		return nil, e
	}
	switch {
	case err != nil:
		return nil, err
	case unable[0] > 0:
		return nil, driver.Errorf(op, driver.ErrUnavailable, "%d of %d ranks cannot take part; their errors say why", unable[0], c.Size())
	}
	if err := comm.BcastSlice(ctx, c, id[:], 0); err != nil {
		return nil, err
	}
	return join(ctx, op, l, id, c.Rank(), c.Size(), dev)
}

// Join makes a communicator of the size ranks that join with the same id. It waits for the others until ctx ends.
func Join(ctx context.Context, id ID, rank, size int, dev *hal.Device) (*Comm, error) {
	const op = "Join"
	if size < 1 || size > 1<<31-1 || rank < 0 || rank >= size {
		return nil, driver.Errorf(op, driver.ErrInvalidArgument, "there is no rank %d of %d", rank, size)
	}
	l, err := libraryOf(op, dev)
	if err != nil {
		return nil, err
	}
	return join(ctx, op, l, id, rank, size, dev)
}
