package part_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/commtest"
	"github.com/go-halyard/halyard/comm/driver"
	"github.com/go-halyard/halyard/comm/part"
)

// An exchange in which a neighbour does not take part is given up: ghosts are stale, further calls are refused, and everything can be closed, though
// the engine may still have messages.
func TestExchangeIsGivenUp(t *testing.T) {
	over := make(chan struct{})
	run := func(e driver.Engine) error {
		ctx, c := t.Context(), comm.New(e)
		b, err := part.New[float64](ctx, c, part.Block(2000), part.Width(300))
		if err != nil {
			return err
		}
		if err := b.Owned().Fill(ctx, 3); err != nil {
			return err
		}
		if c.Rank() == 1 {
			<-over
			return nil // it has been lost to the other
		}
		defer close(over)
		soon, cancel := context.WithCancel(ctx)
		defer cancel()
		x, err := b.Begin(soon)
		if err != nil {
			return err
		}
		cancel()
		if _, err := x.End(soon); !errors.Is(err, comm.ErrTimeout) {
			return fmt.Errorf("the exchange: %w", err)
		}
		if _, err := b.Exchange(ctx); !errors.Is(err, comm.ErrTimeout) {
			return fmt.Errorf("one more: %w", err)
		}
		if len(b.Stale()) == 0 {
			return errors.New("no ghost is stale")
		}
		return errors.Join(b.Close(), c.Close())
	}
	var failed error
	_ = commtest.Execute(2, func(e driver.Engine) error { // messages are left over
		err := run(e)
		if e.World().Rank() == 0 {
			failed = err
		}
		return err
	}, commtest.EagerLimit(0))
	if failed != nil {
		t.Fatal(failed)
	}
}

// An error about a message that is too short names the call that received it.
func TestMismatchNamesTheCall(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, a, b *part.Buffer[int8]) error{
		"Exchange": func(ctx context.Context, a, _ *part.Buffer[int8]) error {
			_, err := a.Exchange(ctx)
			return err
		},
		"Accumulate": func(ctx context.Context, a, _ *part.Buffer[int8]) error {
			if err := a.Local().Fill(ctx, 1); err != nil {
				return err
			}
			_, err := a.Accumulate(ctx, comm.Sum)
			return err
		},
		"Redistribute": func(ctx context.Context, a, b *part.Buffer[int8]) error {
			_, err := part.Redistribute(ctx, b, a)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, 2, func(ctx context.Context, c *comm.Comm) error {
				a, err := part.New[int8](ctx, c, part.Block(2000), part.Width(300))
				if err != nil {
					return err
				}
				b, err := part.New[int8](ctx, c, part.Grid([]int{2, 1000}, []int{1, 2}), part.Halo{})
				if err != nil {
					return err
				}
				err = call(ctx, a, b)
				var e *comm.Error
				if !errors.Is(err, comm.ErrMismatch) || !errors.As(err, &e) || e.Op != name {
					return fmt.Errorf("%s: %v", name, err)
				}
				return errors.Join(b.Close(), a.Close())
			}, commtest.Broken(commtest.Shortens))
		})
	}
}
