// Package coherence defines the modes of an access to a buffer and the kinds of its errors, and documents the rules of the
// protocol that keeps the replicas of a buffer coherent. It imports nothing but the standard library.
// A program needs it to say what an access is going to do:
//
//	lease, err := x.TryAcquire(stream, coherence.ReadWrite)
//
// # States
//
// A place is where a replica can live: the host, or one of 63 devices. The state of a range of bytes is two
// sets of places. Allocated is the set of places that have memory for the range. Valid is its subset of places whose memory
// holds the bytes that were written last; documents and errors also call such a replica current. Seen from a place p, a range
// is in one of four states. The right column has the usual words for caches:
//
//	state      means                                              usual name
//	sole       p is the only valid place                          Exclusive
//	shared     p is valid, and so is another place                Shared
//	stale      p is not valid, another place is                   Invalid
//	unwritten  no place is valid: never written, or reset         Uninitialized
//
// An unwritten range reads as zeros, except after a failed write: then reads are an error (package buffer). There is no state Modified,
// because no memory is a cache of another: a sole replica is the data, whether it was written there or the other replicas were evicted.
//
// Systems with one host and one device use other names for states, which buffer.State shows too: UNINITIALIZED, HOST_ONLY, DEVICE_ONLY,
// SYNCHRONIZED, HOST_DIRTY and DEVICE_DIRTY; and DISTRIBUTED, PARTIAL or LOST where no place has all of the bytes. The name is computed from the two sets when it is asked for, and so is whether a place holds
// the buffer's newest version. Neither is stored, so neither can disagree with the state.
//
// # Rules
//
// An action is an access at p in one of the three modes, or a call of a buffer's method MarkModified, Evict or Reset. For each range an
// action needs at most one transfer, and leads to the next state:
//
//	action           p is                          transfer first                    Valid becomes       Allocated becomes
//	Read(p)          sole or shared                none                              unchanged           unchanged
//	                 stale                         cheapest valid place → p          Valid ∪ {p}         Allocated ∪ {p}
//	                 unwritten                     zeros → p                         Valid ∪ {p}         Allocated ∪ {p}
//	ReadWrite(p)     sole or shared                none                              {p}                 unchanged
//	                 stale                         cheapest valid place → p          {p}                 Allocated ∪ {p}
//	                 unwritten                     zeros → p                         {p}                 Allocated ∪ {p}
//	Overwrite(p)     always                        none                              {p}                 Allocated ∪ {p}
//	MarkModified(p)  sole or shared                none                              {p}                 unchanged
//	                 stale or unwritten            refused: ErrConflict
//	Evict(p)         sole                          p → to, the cheapest other place  Valid ∪ {to} \ {p}  Allocated ∪ {to} \ {p}
//	                 shared or stale or unwritten  none                              Valid \ {p}         Allocated \ {p}
//	Reset            always                        none                              ∅                   unchanged
//
// The place that a transfer fills is first added to both sets; then the sets change as shown. An eviction that finds no other place is
// refused with ErrSoleCopy. Besides these rules, accesses of package buffer exclude each other while they are under way: if two share an
// element and one of them writes, the later one waits, or is refused with ErrConflict.
//
// State is kept for each range of bytes on its own: a write marks exactly the bytes that it was given, and a copy
// moves exactly the bytes that are not valid at its destination.
//
// The table above, docs/coherence.md and the diagram beside it are made from the table that the code runs on.
package coherence
