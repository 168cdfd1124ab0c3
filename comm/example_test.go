package comm_test

import (
	"context"
	"fmt"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Two ranks give each other their outermost element. Here they are goroutines of one process.
func ExampleSendrecv() {
	err := commtest.Execute(2, func(e driver.Engine) error {
		ctx, c := context.Background(), comm.New(e)
		defer c.Close()
		other := 1 - c.Rank()
		b, err := buffer.From([]float64{float64(10 + c.Rank()), 0})
		if err != nil {
			return err
		}
		defer b.Close()
		mine, _ := b.Slice(0, 1)
		ghost, _ := b.Slice(1, 2)
		if _, err := comm.Sendrecv(ctx, c, mine, other, 0, ghost, other, 0); err != nil {
			return err
		}
		return b.View(ctx, func(s []float64) error {
			if c.Rank() == 0 {
				fmt.Println(s)
			}
			return nil
		})
	})
	fmt.Println(err)
	// Output:
	// [10 11]
	// <nil>
}

// A buffer whose host memory is the engine's is sent without a copy.
func ExampleNewBuffer() {
	err := commtest.Execute(2, func(e driver.Engine) error {
		ctx, c := context.Background(), comm.New(e)
		defer c.Close()
		b, err := comm.NewBuffer[float32](c, 1<<20)
		if err != nil {
			return err
		}
		defer b.Close() // before the communicator
		if c.Rank() == 0 {
			if err := b.Fill(ctx, 2.5); err != nil {
				return err
			}
			return comm.Send(ctx, c, b, 1, 0)
		}
		status, err := comm.Recv(ctx, c, b, 0, 0)
		if err != nil {
			return err
		}
		last, err := b.At(ctx, b.Len()-1)
		fmt.Println(status.Count, "elements, the last one", last)
		return err
	})
	fmt.Println(err)
	// Output:
	// 1048576 elements, the last one 2.5
	// <nil>
}
