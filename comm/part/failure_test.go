package part_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/bugs"
	"github.com/go-halyard/halyard/internal/comm/driver"
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
			}, bugs.Broken(bugs.Shortens).(commtest.Option))
		})
	}
}

// An exchange that is refused before it sends anything changes nothing, so the next one forgets what was written to ghosts, and the one after that brings
// the owner's elements.
func TestRefusedExchangeIsMadeAgain(t *testing.T) {
	for _, n := range []int{1, 2} {
		run(t, n, func(ctx context.Context, c *comm.Comm) error {
			b, err := part.New[float64](ctx, c, part.Block(8), part.Halo{Lo: []int{1}, Periodic: []bool{true}})
			if err != nil {
				return err
			}
			over, cancel := context.WithCancel(ctx)
			cancel()
			exchange := func(ctx context.Context, kind error) error {
				if _, err := b.Exchange(ctx); kind == nil || !errors.Is(err, kind) {
					return err
				}
				return nil
			}
			if n == 1 { // no message is sent, but the access of the elements fails
				kind := context.Canceled
				return must(b.Owned().Fill(ctx, 3), exchange(ctx, nil), b.Local().Set(ctx, 0, 99), exchange(over, kind), exchange(ctx, nil),
					ghostIsStale(ctx, b, 0), exchange(ctx, nil), ghostIs(ctx, b, 0, 3), b.Close())
			}
			return must(b.Owned().Fill(ctx, 3), exchange(ctx, nil), b.Local().Set(ctx, 0, 99), exchange(over, comm.ErrTimeout), ghostIs(ctx, b, 0, 99),
				exchange(ctx, nil), ghostIsStale(ctx, b, 0), exchange(ctx, nil), ghostIs(ctx, b, 0, 3), b.Close())
		})
	}
}

func ghostIsStale(ctx context.Context, b *part.Buffer[float64], local int) error {
	if _, err := b.Local().At(ctx, local); !errors.Is(err, part.ErrStale) {
		return fmt.Errorf("reading ghost %d: %v", local, err)
	}
	return nil
}

func ghostIs(ctx context.Context, b *part.Buffer[float64], local int, want float64) error {
	if v, err := b.Local().At(ctx, local); err != nil || v != want {
		return fmt.Errorf("local element %d is %v (%v), not %v", local, v, err, want)
	}
	return nil
}

// A call that fails on one rank after messages have come leaves the communicator as it is. The ghosts that did not arrive stay stale, because later
// calls are refused: they would take the ghosts for current, as the owner has sent them.
func TestCallsAfterAFailureAreRefused(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, b, src *part.Buffer[float64]) error{
		"Exchange": func(ctx context.Context, b, _ *part.Buffer[float64]) error { _, err := b.Exchange(ctx); return err },
		"Accumulate": func(ctx context.Context, b, _ *part.Buffer[float64]) error {
			_, err := b.Accumulate(ctx, comm.Sum)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, 2, func(ctx context.Context, c *comm.Comm) error {
				b, err := part.New[float64](ctx, c, part.Block(8), part.Width(1))
				if err != nil {
					return err
				}
				src, err := part.New[float64](ctx, c, part.Starts(0, 1, 8), part.Halo{})
				if err != nil {
					return err
				}
				if _, err := b.Exchange(ctx); err != nil {
					return err
				}
				if c.Rank() == 1 {
					at := 1 // an owned element; Accumulate sends a ghost
					if name == "Accumulate" {
						at = 0
					}
					return must(b.Owned().Fill(ctx, 3), b.Local().Set(ctx, at, 4), call(ctx, b, src), src.Close(), b.Close())
				}
				lease, err := b.Local().AcquireHost(ctx, coherence.Read) // of what the call is to write
				if err != nil {
					return err
				}
				soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
				defer cancel()
				err = call(soon, b, src)
				if !errors.Is(err, context.DeadlineExceeded) || c.Err() != nil {
					return fmt.Errorf("the call: %v; the communicator: %v", err, c.Err())
				}
				if err := lease.Release(); err != nil {
					return err
				}
				if again := call(ctx, b, src); !errors.Is(again, context.DeadlineExceeded) {
					return fmt.Errorf("one more: %v", again)
				}
				if _, err := b.Local().At(ctx, 4); !errors.Is(err, part.ErrStale) {
					return fmt.Errorf("the ghost: %v", err)
				}
				return must(src.Close(), b.Close())
			})
		})
	}
}

// An Accumulate that could not begin has changed nothing: the ghosts are as current as before.
func TestAnAccumulateThatIsRefusedKeepsGhosts(t *testing.T) {
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		b, err := part.New[int32](ctx, c, part.Block(8), part.Width(1))
		if err != nil {
			return err
		}
		if _, err := b.Exchange(ctx); err != nil {
			return err
		}
		over, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := b.Accumulate(over, comm.Sum); !errors.Is(err, comm.ErrTimeout) {
			return fmt.Errorf("with a context that has ended: %v", err)
		}
		if stale := b.Stale(); len(stale) != 0 {
			return fmt.Errorf("stale after a call that was refused: %v", stale)
		}
		return b.Close()
	})
}

// Ranks that make different calls on a buffer get an error, and do not take one call's elements for those of the other.
func TestDifferentCallsAreAnError(t *testing.T) {
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		b, err := part.New[int32](ctx, c, part.Block(8), part.Width(1))
		if err != nil {
			return err
		}
		if _, err = b.Exchange(ctx); err != nil {
			return err
		}
		if c.Rank() == 0 {
			_, err = b.Exchange(ctx)
		} else {
			_, err = b.Accumulate(ctx, comm.Sum)
		}
		if !errors.Is(err, comm.ErrMismatch) {
			return fmt.Errorf("other calls: %v", err)
		}
		return b.Close()
	})
}
