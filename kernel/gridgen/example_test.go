package gridgen_test

import (
	"fmt"

	"github.com/go-halyard/halyard/kernel/gridgen"
)

// A kernel whose threads read x[i-1] for i := t.Global(0) < 10: the elements that the threads of two blocks of 4 read.
func ExampleInterval() {
	box := gridgen.Box{Hi: [3]int{8, 1, 1}, Block: [3]int{4, 1, 1}}
	i := gridgen.Places(box, 0).Below(gridgen.Only(10))
	fmt.Println(i.Add(-1).Span(10))
	// Output: {0 7}
}
