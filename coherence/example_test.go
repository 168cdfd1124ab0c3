package coherence_test

import (
	"fmt"

	"github.com/go-halyard/halyard/coherence"
)

// The modes say what an access does with the bytes that were there before.
func Example() {
	for _, m := range []coherence.Mode{coherence.Read, coherence.ReadWrite, coherence.Overwrite} {
		fmt.Println(m)
	}
	// Output:
	// Read
	// ReadWrite
	// Overwrite
}
