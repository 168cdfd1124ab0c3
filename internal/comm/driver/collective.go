package driver

import (
	"fmt"
	"unsafe"
)

// Call names a collective operation. The comments say which fields of [Collective] it uses. "Part i" is the part that belongs to
// rank i: the Count bytes at offset i*Count. The last three have parts of different lengths, in elements of Type, which follow one another
// without gaps: Sends and Recvs have the lengths.
type Call uint8

const (
	Barrier   Call = iota // no fields: done when every rank has made the call
	Bcast                 // Recv, Count, Root: Root's Count bytes at Recv go to Recv of every rank
	Reduce                // Send, Recv (at Root), Count elements, Type, Op, Root: element k of Recv is Op over element k of all ranks
	Allreduce             // Send, Recv, Count elements, Type, Op: Reduce whose result goes to every rank
	Gather                // Send, Recv (at Root), Count, Root: the Count bytes of rank i become part i of Recv
	Scatter               // Send (at Root), Recv, Count, Root: part i of Send becomes the Count bytes of rank i
	Allgather             // Send, Recv, Count: Gather to every rank
	Alltoall              // Send, Recv, Count: part j of Send at rank i becomes part i of Recv at rank j
	Gatherv               // Send, Count, Root, at Root also Recv, Recvs: the Count elements of rank i become part i of Recv
	Scatterv              // Recv, Count, Root, at Root also Send, Sends: part i of Send becomes the Count elements of rank i
	Alltoallv             // Send, Sends, Recv, Recvs: part j of Send at rank i becomes part i of Recv at rank j
	lastCall
)

var callNames = [lastCall]string{"Barrier", "Bcast", "Reduce", "Allreduce", "Gather", "Scatter", "Allgather", "Alltoall",
	"Gatherv", "Scatterv", "Alltoallv"}

// String is the name of the constant.
func (c Call) String() string {
	if c < lastCall {
		return callNames[c]
	}
	return fmt.Sprintf("Call(%d)", uint8(c))
}

// Rooted reports whether one rank, Root, has a role of its own.
func (c Call) Rooted() bool {
	switch c {
	case Bcast, Reduce, Gather, Scatter, Gatherv, Scatterv:
		return true
	}
	return false
}

// Reduces reports whether the operation combines elements, and so uses Op.
func (c Call) Reduces() bool { return c == Reduce || c == Allreduce }

// Varies reports whether the ranks' parts may have different lengths.
func (c Call) Varies() bool { return c >= Gatherv && c < lastCall }

// Collective is one rank's part in a collective operation. Fields that the comment of its Call does not name are ignored. Fields that it
// names "at Root" are ignored at the other ranks.
//
// Memory that is read and memory that is written do not overlap, except in an operation in place (MPI_IN_PLACE). There the address of what
// this rank gives to itself equals the address of what it takes from itself:
//
//   - Send == Recv for Reduce at Root and Allreduce;
//   - Send == the address of the rank's own part of Recv for Gather at Root and Allgather;
//   - Recv == the address of the rank's own part of Send for Scatter at Root.
//
// The other calls are never in place. [Collective.InPlace] reports whether an operation is in place.
type Collective struct {
	Call Call
	Type Type
	Op   Op
	Root int

	Send, Recv unsafe.Pointer
	Count      uint64 // bytes, or elements of Type in the calls that say so

	Sends, Recvs []uint64 // the lengths of the parts of Send and of Recv, in elements of Type; they do not change until the request is done
}

// InPlace reports whether the rank gives and takes its own part at one address. If that part has no bytes, it is false, except for the
// calls that are in place when Send == Recv and not nil.
func (c *Collective) InPlace(rank int) bool {
	own := func(p unsafe.Pointer) uintptr { return uintptr(p) + uintptr(rank)*uintptr(c.Count) }
	switch c.Call {
	case Reduce:
		return rank == c.Root && c.Send != nil && c.Send == c.Recv
	case Allreduce:
		return c.Send != nil && c.Send == c.Recv
	case Gather:
		return rank == c.Root && c.Count > 0 && uintptr(c.Send) == own(c.Recv)
	case Allgather:
		return c.Count > 0 && uintptr(c.Send) == own(c.Recv)
	case Scatter:
		return rank == c.Root && c.Count > 0 && uintptr(c.Recv) == own(c.Send)
	}
	return false
}
