package kernel

import (
	"os"
	"strings"
	"sync/atomic"
)

// EnvCheck is the environment variable that turns checks on: a list of words with commas between them. With "kernels" each launch waits for
// its kernel, and fails if the kernel failed, wrote to an argument passed with In, or did not write all elements of one passed with Out, or
// read some before. To find out, it copies the arguments to the host, and runs the kernel again with other bytes in each Out. It does not
// check an In that overlaps an argument which the kernel may write, or an Out that overlaps one which it may read. But a kernel in Go is
// refused if arguments overlap and, as its [gridgen.Footprint] says, threads use elements there that others write.
//
// With "kernels" a launch that a [Split] would divide runs on the first device alone. Before, its parts run on the host, on copies of the
// arguments. The launch fails, with an error of kind hal.ErrOutOfRange that names the kernel, the file and the line, if one uses an element
// outside of its footprint. That is found on Linux.
//
// With "bounds" each launch of a kernel that the command "halyard kernels" translated from Go waits for the kernel, and fails if an index
// was out of range on the device. The error, of kind hal.ErrOutOfRange, names the file, the line, the first such index and the length. An
// access with such an index reads or writes the first element instead, so that nothing outside is touched. A launch fails too, with an error
// of kind hal.ErrKernel, if integers were divided by zero or a count of a shift was negative. On the host Go itself checks all this, and the
// error is of kind hal.ErrKernel; errors.Is finds hal.ErrOutOfRange in that of an index, too. On both, what the kernel
// wrote is lost, and accesses that read it fail with this error.
//
// Some drivers end a loop after some number of rounds. On their devices, a launch of a kernel in Go whose loops may have many rounds waits
// for the kernel, and fails, with the line of the loop, if the driver has ended one. With "rounds" such launches do so on every device.
//
// The variable is read once, when the program starts; setting it later has no effect.
const EnvCheck = "HALYARD_CHECK"

var checking, checkingBounds, checkingRounds atomic.Bool

func init() {
	for word := range strings.SplitSeq(os.Getenv(EnvCheck), ",") {
		switch strings.TrimSpace(word) {
		case "kernels":
			checking.Store(true)
		case "bounds":
			checkingBounds.Store(true)
		case "rounds":
			checkingRounds.Store(true)
		}
	}
}
