package array_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/go-halyard/halyard/buffer/array"
	f16 "github.com/go-halyard/halyard/kernel/half"
)

// An .npy file may have records, which are structures, and float16, which is half.Float16.
func ExampleReadNPY_records() {
	type particle struct {
		At     [2]float32
		Weight [2]f16.Float16
	}
	ctx := context.Background()
	a, err := array.From([]particle{{[2]float32{1, 2}, [2]f16.Float16{f16.ToFloat16(0.5), f16.ToFloat16(3)}}}, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	var file bytes.Buffer
	if _, err := a.WriteNPY(ctx, &file); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.56s\n", file.Bytes()[10:])
	b, err := array.ReadNPY[particle](&file)
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	p, err := b.At(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.At, p.Weight[1].Float32())
	// Output:
	// {'descr': [('At', '<f4', (2,)), ('Weight', '<f2', (2,))]
	// [1 2] 3
}
