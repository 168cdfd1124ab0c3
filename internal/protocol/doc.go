// Package protocol decides which replica of a range of bytes is current, and what has to be copied before a place may read or write it. It
// is the state machine alone: pure functions over small values, without devices, clocks, goroutines or I/O. The owner of the memory
// performs the transfers that are planned here and reports what became of them. Package coherence has the names that programs use, and the
// transition table in its documentation.
//
// A [Place] is where a replica can live: the host, or one of 63 devices. The [State] of a range is two sets of places: those that have
// memory for it, and those among them whose bytes are the ones last written. An [Action] at a place needs at most one transfer and leads to
// the next state. [Table] returns these rules with a reason for each, and [State.Plan] interprets them.
//
// What other systems call HOST_DIRTY or SYNCHRONIZED is a [Name]. It is computed from the two sets, and so is
// the version that a place holds. Neither is stored, so neither can disagree with the state.
//
// # Plan, submit, commit
//
// A plan is made from the state before the action, and its copies are submitted before anything is invalidated. In the other order the
// destination of a copy would count as valid already, and could be chosen as the source. The owner of the memory works in three steps:
//
//  1. [Map.Plan] lists the transfers. The map does not change.
//  2. Each transfer is submitted and recorded by [Map.Apply]. If one cannot be submitted, the owner
//     stops: the transfers before it are recorded, and nothing else changes.
//  3. [Map.Commit] records the action.
//
// When work that was submitted turns out to have failed, [Map.Invalidate] makes its destination stale. A failed copy leaves the bytes valid
// where they came from. A failed write may leave a range valid nowhere although it was written. Invalidate says so, and the owner has to
// remember the error and return it to accesses that read the range, because by its state alone the range would read as zeros. For the same
// reason the owner commits an eviction, and frees the memory, only when the copy that rescues the bytes has succeeded, not when it was
// submitted.
//
// # Ranges
//
// A [Map] keeps a state for each interval of a buffer. Intervals split where an action touches part of them and merge as soon as neighbours
// are equal. A write marks exactly the bytes it was given. A plan chooses a source for each interval, moves exactly the bytes that are not
// valid, and merges adjacent transfers with the same source and destination.
//
// A single interval is kept in the map itself, and more in a treap, a balanced search tree. Each node keeps the places that are valid in all
// bytes of the node and those below it, and those valid in some. So a query of a range takes O(log n) however many intervals the range
// covers. A change takes O(log n) for each stretch of intervals that changes, and time for the intervals in the stretch.
package protocol

//go:generate go run ./diagram -root ../..
