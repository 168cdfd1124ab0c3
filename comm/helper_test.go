package comm_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// modes are the ways in which an engine may behave.
var modes = map[string][]commtest.Option{
	"default":                   nil,
	"rendezvous":                {commtest.EagerLimit(0)},
	"adversary":                 {commtest.Adversary(1)},
	"adversary with rendezvous": {commtest.Adversary(2), commtest.EagerLimit(0)},
}

// run runs fn on n ranks, each with the communicator of all.
func run(t *testing.T, n int, fn func(ctx context.Context, c *comm.Comm) error, opts ...commtest.Option) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	commtest.Run(t, n, func(e driver.Engine) error {
		c := comm.New(e)
		if err := fn(ctx, c); err != nil {
			return err
		}
		return c.Close()
	}, opts...)
}

// numbers are n elements that tell the rank and the index.
func numbers(n, rank int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = float64(1000*rank + i)
	}
	return s
}

func buffered(data []float64) *buffer.Buffer[float64] {
	b, err := buffer.From(data)
	if err != nil {
		panic(err)
	}
	return b
}

// contents are the elements of a buffer.
func contents[T buffer.Element](b *buffer.Buffer[T]) (s []T) {
	if err := b.View(context.Background(), func(v []T) error { s = append(s, v...); return nil }); err != nil {
		panic(err)
	}
	return s
}

func same[T comparable](got, want []T) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d elements in place of %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("element %d is %v, not %v", i, got[i], want[i])
		}
	}
	return nil
}
