package grid

import (
	"github.com/go-halyard/halyard/internal/crash"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/kernel"
)

// Println writes a line to standard error if the environment variable HALYARD_DEBUG contains print: where the call is, the block, the thread, and the
// arguments with spaces between them. These are constant strings and at most 8 numbers and bools. Without the variable a kernel is as if the call were not
// there, except that the arguments are evaluated.
//
// Launches of kernels with such calls then run one after the other, and each is waited for. The lines of a launch are in the order of the threads, and there
// are 1000 of them at most; how many more there would be is said. Vulkan's devices refuse these launches.
func Println(t Thread, args ...any) {
	if debug.Printing {
		kernel.Printed(t.in.Block, [3]int{t.Local(0), t.Local(1), t.Local(2)}, crash.Caller("github.com/go-halyard/halyard/kernel/grid.Println"), args...)
	}
}

// Unprinted is Println in the loops of generated files, for programs that do not print.
func Unprinted(_ *Thread, _ ...any) {}
