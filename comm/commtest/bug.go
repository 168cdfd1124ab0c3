package commtest

import "fmt"

// Bug is one way in which a job can behave wrongly.
type Bug uint8

const (
	NoBug                    Bug = iota
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
	IgnoresOffsets               // parts are placed one after the other
	RefusesInPlace               // operations in place leave the memory as it was
	ReducesPairs                 // reductions leave out rank 2
	ReducesHalf                  // the first half of the elements is not combined
	ReducesUnsigned              // signed integers are compared as unsigned ones
	Saturates                    // sums of 8-bit integers that do not fit become the largest value
	ReducesAtRankZero            // Allreduce gives its result to rank 0 only
	ScansExclusively             // Scan leaves out the rank itself
	ScansInclusively             // Exscan takes in the rank itself
	ProbesReceive                // Iprobe receives the message
	GivesMemoryTwice             // memory of Alloc is in use already
	CancelsSends                 // Cancel says that a send was cancelled
	ClearsOthers                 // Test clears the statuses of requests that are not done
	ColorsNobody                 // Split takes NoColor for a color
	lastBug
)

var bugNames = [lastBug]string{"NoBug", "Drops", "DropsEmpty", "Duplicates", "Overtakes", "Shortens", "LosesTail", "WritesBeyond",
	"CompletesSendsEarly", "CompletesReceivesEarly", "WrongSource", "WrongTag", "WrongLength", "IgnoresTags", "TruncatesSilently",
	"Overruns", "ForgetsCancel", "CancelsLate", "MixesCommunicators", "IgnoresKeys", "HidesLostRanks", "GivesUsedMemory", "BarrierLetsThrough",
	"CompletesReductionsEarly", "IgnoresRoot", "IgnoresOwnPart", "IgnoresOffsets", "RefusesInPlace", "ReducesPairs", "ReducesHalf",
	"ReducesUnsigned", "Saturates", "ReducesAtRankZero", "ScansExclusively", "ScansInclusively", "ProbesReceive",
	"GivesMemoryTwice", "CancelsSends", "ClearsOthers", "ColorsNobody"}

// String is the name of the constant.
func (b Bug) String() string {
	if b < lastBug {
		return bugNames[b]
	}
	return fmt.Sprintf("Bug(%d)", uint8(b))
}

// Bugs lists every bug once, without NoBug.
func Bugs() []Bug {
	all := make([]Bug, 0, lastBug-1)
	for b := NoBug + 1; b < lastBug; b++ {
		all = append(all, b)
	}
	return all
}

// Broken gives a job a bug, for tests of tests.
func Broken(b Bug) Option { return func(c *config) { c.bug = b } }
