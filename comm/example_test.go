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

// A rank that does not know how long a message is asks before it makes the buffer.
func ExampleProbe() {
	err := commtest.Execute(2, func(e driver.Engine) error {
		ctx, c := context.Background(), comm.New(e)
		defer c.Close()
		if c.Rank() == 0 {
			return comm.SendSlice(ctx, c, []float64{1, 2, 3}, 1, 7)
		}
		status, err := comm.Probe[float64](ctx, c, comm.AnySource, comm.AnyTag)
		if err != nil {
			return err
		}
		data := make([]float64, status.Count)
		_, err = comm.RecvSlice(ctx, c, data, status.Source, status.Tag)
		fmt.Println(data, "from rank", status.Source)
		return err
	})
	fmt.Println(err)
	// Output:
	// [1 2 3] from rank 0
	// <nil>
}

// Results are used in the order in which they come.
func ExampleWaitany() {
	err := commtest.Execute(3, func(e driver.Engine) error {
		ctx, c := context.Background(), comm.New(e)
		defer c.Close()
		if c.Rank() > 0 {
			return comm.SendSlice(ctx, c, []int64{int64(10 * c.Rank())}, 0, 0)
		}
		var reqs []*comm.Request
		var parts []*buffer.Buffer[int64]
		for source := 1; source < c.Size(); source++ {
			b, err := buffer.New[int64](1)
			if err != nil {
				return err
			}
			defer b.Close()
			q, err := comm.Irecv(ctx, c, b, source, 0)
			if err != nil {
				return err
			}
			reqs, parts = append(reqs, q), append(parts, b)
		}
		sum := int64(0)
		for {
			i, _, err := comm.Waitany(ctx, reqs)
			if err != nil {
				return err
			}
			if i < 0 {
				break
			}
			v, err := parts[i].At(ctx, 0)
			if err != nil {
				return err
			}
			sum += v
		}
		fmt.Println(sum)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 30
	// <nil>
}

// Each rank gives as many elements as its number says.
func ExampleGatherv() {
	err := commtest.Execute(3, func(e driver.Engine) error {
		ctx, c := context.Background(), comm.New(e)
		defer c.Close()
		mine, err := buffer.From([]int64{1, 2, 3}[:c.Rank()+1])
		if err != nil {
			return err
		}
		defer mine.Close()
		if c.Rank() > 0 {
			return comm.Gatherv(ctx, c, mine, nil, nil, 0)
		}
		all, err := buffer.New[int64](6)
		if err != nil {
			return err
		}
		defer all.Close()
		if err := comm.Gatherv(ctx, c, mine, all, []int{1, 2, 3}, 0); err != nil {
			return err
		}
		return all.View(ctx, func(s []int64) error { fmt.Println(s); return nil })
	})
	fmt.Println(err)
	// Output:
	// [1 1 2 1 2 3]
	// <nil>
}

// The root gives each rank a part of another length, and takes one itself.
func ExampleScatterv() {
	err := commtest.Execute(2, func(e driver.Engine) error {
		ctx, c := context.Background(), comm.New(e)
		defer c.Close()
		part, err := buffer.New[int64](2 - c.Rank())
		if err != nil {
			return err
		}
		defer part.Close()
		if c.Rank() == 1 {
			if err := comm.Scatterv(ctx, c, nil, nil, part, 0); err != nil {
				return err
			}
			return part.View(ctx, func(s []int64) error { fmt.Println(s); return nil })
		}
		all, err := buffer.From([]int64{1, 2, 3})
		if err != nil {
			return err
		}
		defer all.Close()
		return comm.Scatterv(ctx, c, all, []int{2, 1}, part, 0)
	})
	fmt.Println(err)
	// Output:
	// [3]
	// <nil>
}

// Rank r gives r elements to every rank.
func ExampleAlltoallv() {
	err := commtest.Execute(3, func(e driver.Engine) error {
		ctx, c := context.Background(), comm.New(e)
		defer c.Close()
		r := c.Rank()
		send, err := buffer.New[int64](3 * r)
		if err != nil {
			return err
		}
		defer send.Close()
		recv, err := buffer.New[int64](3)
		if err != nil {
			return err
		}
		defer recv.Close()
		if err := send.Fill(ctx, int64(r)); err != nil {
			return err
		}
		if err := comm.Alltoallv(ctx, c, send, []int{r, r, r}, recv, []int{0, 1, 2}); err != nil {
			return err
		}
		return recv.View(ctx, func(s []int64) error {
			if r == 0 {
				fmt.Println(s)
			}
			return nil
		})
	})
	fmt.Println(err)
	// Output:
	// [1 2 2]
	// <nil>
}

// A rank computes while the sum is under way.
func ExampleIallreduce() {
	err := commtest.Execute(2, func(e driver.Engine) error {
		ctx, c := context.Background(), comm.New(e)
		defer c.Close()
		b, err := buffer.From([]float64{float64(c.Rank() + 1)})
		if err != nil {
			return err
		}
		defer b.Close()
		q, err := comm.Iallreduce(ctx, c, b, b, comm.Sum)
		if err != nil {
			return err
		}
		// Compute something that does not need b.
		if _, err := q.Wait(ctx); err != nil {
			return err
		}
		v, err := b.At(ctx, 0)
		if c.Rank() == 0 {
			fmt.Println(v)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// 3
	// <nil>
}
