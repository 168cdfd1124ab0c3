// Package bugs names the ways in which the ranks of package commtest can be made to behave wrongly, for tests which show that a check finds
// them.
package bugs

import "fmt"

// Broken returns the commtest.Option that makes a job behave wrongly in one way. The conformance suite of engines finds each of them. Package
// commtest sets it.
var Broken func(Bug) any

// Bug is one way in which a job can behave wrongly.
type Bug uint8

const (
	None                     Bug = iota
	Drops                        // one message in seven is lost
	DropsEmpty                   // messages without bytes are lost
	Duplicates                   // short messages arrive twice
	Overtakes                    // a later message is received before an earlier one
	Shortens                     // long messages arrive without their last byte, and the status says so
	LosesTail                    // messages arrive without their last byte if they are long, and the status does not say so
	WritesBeyond                 // the byte after the message is changed
	CompletesSendsEarly          // sends are done before their memory has been read
	CompletesReceivesEarly       // receives are done before their memory has been written
	WrongSource                  // a receive reports the wrong source
	WrongTag                     // a receive of any tag reports the wrong tag
	WrongLength                  // a receive reports the length of its memory
	IgnoresTags                  // a receive takes messages with other tags
	TruncatesSilently            // a message that is too long is cut without an error
	Overruns                     // one byte of a message that is too long is written after the memory for it
	ForgetsCancel                // cancelled receives are never done
	CancelsLate                  // cancelled receives wait for a message, and lose it
	MixesCommunicators           // Dup returns the communicator itself
	IgnoresKeys                  // Split keeps the order of ranks
	HidesLostRanks               // the other ranks do not learn that a rank was lost
	GivesUsedMemory              // memory of Alloc is not zero
	BarrierLetsThrough           // a barrier does not wait
	CompletesReductionsEarly     // Allreduce is done before the result is there
	IgnoresRoot                  // rank 0 is the root
	IgnoresOwnPart               // what a rank gives itself does not arrive
	RefusesInPlace               // operations in place leave the memory as it was
	ReducesPairs                 // reductions leave out rank 2
	ReducesHalf                  // the first half of the elements is not combined
	ReducesUnsigned              // signed integers are compared as unsigned ones
	Saturates                    // sums of 8-bit integers that do not fit become the largest value
	ReducesAtRankZero            // Allreduce gives its result to rank 0 only
	GivesMemoryTwice             // memory of Alloc is in use already
	CancelsSends                 // Cancel says that a send was cancelled
	ClearsOthers                 // Test clears the statuses of requests that are not done
	ColorsNobody                 // Split takes NoColor for a color
	ProbesTake                   // a message that a probe describes cannot be received any more
	last
)

var names = [last]string{"None", "Drops", "DropsEmpty", "Duplicates", "Overtakes", "Shortens", "LosesTail", "WritesBeyond",
	"CompletesSendsEarly", "CompletesReceivesEarly", "WrongSource", "WrongTag", "WrongLength", "IgnoresTags", "TruncatesSilently",
	"Overruns", "ForgetsCancel", "CancelsLate", "MixesCommunicators", "IgnoresKeys", "HidesLostRanks", "GivesUsedMemory", "BarrierLetsThrough",
	"CompletesReductionsEarly", "IgnoresRoot", "IgnoresOwnPart", "RefusesInPlace", "ReducesPairs", "ReducesHalf",
	"ReducesUnsigned", "Saturates", "ReducesAtRankZero",
	"GivesMemoryTwice", "CancelsSends", "ClearsOthers", "ColorsNobody", "ProbesTake"}

// String is the name of the constant.
func (b Bug) String() string {
	if b < last {
		return names[b]
	}
	return fmt.Sprintf("Bug(%d)", uint8(b))
}

// All lists every bug once, without None.
func All() []Bug {
	all := make([]Bug, 0, last-1)
	for b := None + 1; b < last; b++ {
		all = append(all, b)
	}
	return all
}
