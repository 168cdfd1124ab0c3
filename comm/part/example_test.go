package part_test

import (
	"context"
	"fmt"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/commtest"
	"github.com/go-halyard/halyard/comm/driver"
	"github.com/go-halyard/halyard/comm/part"
)

// Three ranks have four numbers each, and one ghost of each neighbour's. The second exchange sends what was written since the first.
func Example() {
	err := commtest.Execute(3, func(e driver.Engine) error {
		ctx, c := context.Background(), comm.New(e)
		defer c.Close()
		u, err := part.New[float64](ctx, c, part.Block(12), part.Width(1))
		if err != nil {
			return err
		}
		defer u.Close()
		if err := u.Owned().Fill(ctx, float64(c.Rank())); err != nil {
			return err
		}
		for range 2 {
			moved, err := u.Exchange(ctx)
			if err != nil {
				return err
			}
			if c.Rank() == 1 {
				if err := u.Local().View(ctx, func(s []float64) error { fmt.Println(s, moved.Bytes, "bytes"); return nil }); err != nil {
					return err
				}
			}
			if err := u.Owned().Set(ctx, 0, 7); err != nil { // the first of the owned elements
				return err
			}
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// [0 1 1 1 1 2] 16 bytes
	// [0 7 1 1 1 7] 8 bytes
	// <nil>
}
