package half_test

import (
	"fmt"

	"github.com/go-halyard/halyard/kernel/half"
)

func Example() {
	weights := []half.Float16{half.ToFloat16(0.1), half.ToFloat16(65519), half.ToFloat16(65520)}
	for _, w := range weights {
		fmt.Println(w.Float32())
	}
	fmt.Println(half.ToBFloat16(0.1).Float32())
	// Output:
	// 0.099975586
	// 65504
	// +Inf
	// 0.100097656
}
