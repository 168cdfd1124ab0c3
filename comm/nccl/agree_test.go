//go:build cuda && hip && linux

package nccl_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/nccl"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/simnccl"
	"github.com/go-halyard/halyard/kernel/half"
)

// real are the types that NCCL reduces in every way.
type real interface {
	int8 | uint8 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// value is element i of a rank: small whole numbers, so that sums and products of a few are exact in every type.
func value[T real](rank, i int) T { return T((rank*5+i*3+i/7)%11 + 1) }

func values[T real](rank, n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = value[T](rank, i)
	}
	return s
}

// serial combines element i of all ranks.
func serial[T real](op comm.Op, ranks, i int) T {
	x := value[T](0, i)
	for r := 1; r < ranks; r++ {
		switch y := value[T](r, i); op {
		case comm.Sum:
			x += y
		case comm.Prod:
			x *= y
		case comm.Min:
			x = min(x, y)
		default:
			x = max(x, y)
		}
	}
	return x
}

// agrees makes every operation, and compares the results with those of one process.
func agrees[T real](ctx context.Context, r *rank, n int) error {
	me, size := r.c.Rank(), r.c.Size()
	for _, op := range []comm.Op{comm.Sum, comm.Prod, comm.Min, comm.Max} {
		if _, ok := any(*new(T)).(int8); ok && op == comm.Prod {
			continue // it wraps around; uint8 shows that
		}
		all := func(i int) T { return serial[T](op, size, i) }
		send, recv := from(r, values[T](me, n)), empty[T](r, n)
		if err := nccl.Allreduce(ctx, r.c, r.stream, send, recv, op); err != nil {
			return err
		}
		if err := holds(ctx, r, "Allreduce, "+op.String(), recv, all); err != nil {
			return err
		}
		if err := holds(ctx, r, "what was sent", send, func(i int) T { return value[T](me, i) }); err != nil {
			return err
		}
		if err := nccl.Allreduce(ctx, r.c, r.stream, send, send, op); err != nil {
			return err
		}
		if err := holds(ctx, r, "Allreduce in place, "+op.String(), send, all); err != nil {
			return err
		}
		root := size - 1
		send, recv = from(r, values[T](me, n)), nil
		if me == root {
			recv = empty[T](r, n)
		}
		if err := nccl.Reduce(ctx, r.c, r.stream, send, recv, op, root); err != nil {
			return err
		}
		if me == root {
			if err := holds(ctx, r, "Reduce, "+op.String(), recv, all); err != nil {
				return err
			}
		}
		send, recv = from(r, values[T](me, n*size)), empty[T](r, n)
		mine := func(i int) T { return all(me*n + i) }
		if err := nccl.ReduceScatter(ctx, r.c, r.stream, send, recv, op); err != nil {
			return err
		}
		if err := holds(ctx, r, "ReduceScatter, "+op.String(), recv, mine); err != nil {
			return err
		}
		own := part(send, me*n, me*n+n)
		if err := nccl.ReduceScatter(ctx, r.c, r.stream, send, own, op); err != nil {
			return err
		}
		if err := holds(ctx, r, "ReduceScatter in place, "+op.String(), own, mine); err != nil {
			return err
		}
	}
	return moves(ctx, r, n, value[T])
}

// moves makes every operation that does not compute. value must give rank and index different values.
func moves[T nccl.Number](ctx context.Context, r *rank, n int, value func(rank, i int) T) error {
	me, size := r.c.Rank(), r.c.Size()
	data := make([]T, n)
	for i := range data {
		data[i] = value(me, i)
	}
	for root := range size {
		b := empty[T](r, n)
		if me == root {
			b = from(r, data)
		}
		if err := nccl.Bcast(ctx, r.c, r.stream, b, root); err != nil {
			return err
		}
		if err := holds(ctx, r, "Bcast", b, func(i int) T { return value(root, i) }); err != nil {
			return err
		}
	}
	gathered := func(i int) T { return value(i/n, i%n) }
	send, recv := from(r, data), empty[T](r, n*size)
	if err := nccl.Allgather(ctx, r.c, r.stream, send, recv); err != nil {
		return err
	}
	if err := holds(ctx, r, "Allgather", recv, gathered); err != nil {
		return err
	}
	recv = empty[T](r, n*size)
	own := part(recv, me*n, me*n+n)
	if err := own.CopyIn(ctx, data); err != nil {
		return err
	}
	if err := nccl.Allgather(ctx, r.c, r.stream, own, recv); err != nil {
		return err
	}
	if err := holds(ctx, r, "Allgather in place", recv, gathered); err != nil {
		return err
	}
	// A ring, in which each sends and receives two parts of one message at once. With one rank it sends to itself.
	right, left := (me+1)%size, (me+size-1)%size
	send, recv = from(r, data), empty[T](r, n)
	var messages []nccl.Message
	if n > 1 {
		messages = append(messages, nccl.Send(part(send, 0, n/2), right), nccl.Recv(part(recv, 0, n/2), left))
	}
	err := nccl.Group(ctx, r.c, r.stream, append(messages, nccl.Send(part(send, n/2, n), right), nccl.Recv(part(recv, n/2, n), left))...)
	if err != nil {
		return err
	}
	if err := holds(ctx, r, "Group", recv, func(i int) T { return value(left, i) }); err != nil {
		return err
	}
	// Messages that are not grouped, along a line.
	if me > 0 {
		recv = empty[T](r, n)
		if err := nccl.Group(ctx, r.c, r.stream, nccl.Recv(recv, me-1)); err != nil {
			return err
		}
		if err := holds(ctx, r, "Recv", recv, func(i int) T { return value(me-1, i) }); err != nil {
			return err
		}
	}
	if me < size-1 {
		return nccl.Group(ctx, r.c, r.stream, nccl.Send(send, me+1))
	}
	return nil
}

// everything is a short program that uses all calls.
func everything(ctx context.Context, r *rank) error { return agrees[float32](ctx, r, 37) }

func TestOperationsAgreeWithOneProcess(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		for _, n := range []int{1, 2, 4} {
			t.Run(fmt.Sprint(n, " ranks"), func(t *testing.T) {
				require.NoError(t, s.job(t, n, func(ctx context.Context, r *rank) error {
					for _, check := range []func() error{
						func() error { return agrees[int8](ctx, r, 5) },
						func() error { return agrees[uint8](ctx, r, 64) },
						func() error { return agrees[int32](ctx, r, 1) },
						func() error { return agrees[uint32](ctx, r, 33) },
						func() error { return agrees[int64](ctx, r, 7) },
						func() error { return agrees[uint64](ctx, r, 130) },
						func() error { return agrees[float32](ctx, r, 3001) },
						func() error { return agrees[float64](ctx, r, 12) },
						func() error {
							return moves(ctx, r, 9, func(rank, i int) int16 { return int16(1000*rank - i) })
						},
						func() error {
							return moves(ctx, r, 10, func(rank, i int) uint16 { return uint16(1000*rank + i) })
						},
						func() error {
							return moves(ctx, r, 11, func(rank, i int) complex64 { return complex(float32(rank), float32(i)) })
						},
						func() error {
							return moves(ctx, r, 12, func(rank, i int) complex128 { return complex(float64(rank), float64(-i)) })
						},
					} {
						if err := check(); err != nil {
							return err
						}
					}
					return nil
				}))
			})
		}
	})
}

func TestSumsOfComplexNumbers(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		require.NoError(t, s.job(t, 2, func(ctx context.Context, r *rank) error {
			b := from(r, []complex64{complex(float32(r.c.Rank()+1), 2), 3i})
			if err := nccl.Allreduce(ctx, r.c, r.stream, b, b, comm.Sum); err != nil {
				return err
			}
			want := []complex64{3 + 4i, 6i}
			return holds(ctx, r, "sum", b, func(i int) complex64 { return want[i] })
		}))
	})
}

// Numbers of 16 bits are moved as they are, and reduced as numbers.
func TestHalves(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		require.NoError(t, s.job(t, 2, func(ctx context.Context, r *rank) error {
			if err := halves(ctx, r, half.ToFloat16); err != nil {
				return err
			}
			if err := halves(ctx, r, half.ToBFloat16); err != nil {
				return err
			}
			b := empty[half.BFloat16](r, 1)
			err := nccl.Allreduce(ctx, r.c, r.stream, b, b, comm.And)
			if !errors.Is(err, hal.ErrInvalidArgument) || !strings.Contains(err.Error(), "And is not defined for half.BFloat16") {
				return fmt.Errorf("the error of And is %w", err)
			}
			return moves(ctx, r, 9, func(rank, i int) half.Float16 { return half.Float16{Bits: uint16(1000*rank + i)} })
		}))
	})
}

func halves[T half.Float16 | half.BFloat16](ctx context.Context, r *rank, to func(float32) T) error {
	for i, want := range [...][]float32{comm.Sum: {3, -0.75}, comm.Prod: {2, 0.125}, comm.Max: {2, -0.25}, comm.Min: {1, -0.5}} {
		me := float32(r.c.Rank() + 1)
		op, b := comm.Op(i), from(r, []T{to(me), to(-0.25 * me)})
		if err := nccl.Allreduce(ctx, r.c, r.stream, b, b, op); err != nil {
			return err
		}
		if err := holds(ctx, r, op.String(), b, func(i int) T { return to(want[i]) }); err != nil {
			return err
		}
	}
	return nil
}

// A driver that does work as late and in as odd an order as streams allow, and a library that takes its time before work is on the stream.
func TestOperationsAgreeInAnyOrderOfWork(t *testing.T) {
	t.Setenv("HALYARD_SIM_NCCL_LATE", "2")
	for _, s := range simulate(t) {
		t.Run(s.backend, func(t *testing.T) {
			t.Setenv(nccl.EnvLibrary, s.library)
			for seed := uint64(1); seed < 4; seed++ {
				require.NoError(t, s.Reset(seed))
				require.NoError(t, s.job(t, 2, everything), seed)
				s.kept(t)
			}
		})
	}
}

// Each planted bug makes the short program fail in the way that belongs to it.
func TestPlantedBugsAreCaught(t *testing.T) {
	want := map[string]error{
		"drop": errWrong, "shorten": errWrong, "early": errWrong, "wrong-op": errWrong, "wrong-part": errWrong, "wrong-root": errWrong, "swapped": errWrong,
		"async-error": comm.ErrEngine, "hang": comm.ErrTimeout, "never-launched": comm.ErrTimeout,
	}
	for _, s := range simulate(t) {
		t.Run(s.backend, func(t *testing.T) {
			t.Setenv(nccl.EnvLibrary, s.library)
			for _, bug := range simnccl.Bugs() {
				t.Run(bug, func(t *testing.T) {
					t.Setenv("HALYARD_SIM_NCCL_BUG", bug)
					require.NoError(t, s.Reset(0))
					ctx, cancel := context.WithTimeout(t.Context(), within)
					defer cancel()
					if want[bug] == comm.ErrTimeout {
						var short context.CancelFunc
						ctx, short = context.WithTimeout(ctx, during)
						defer short()
					}
					err := s.jobWithin(ctx, 2, func(ctx context.Context, r *rank) error {
						if bug != "unordered" {
							return everything(ctx, r)
						}
						return behindGate(ctx, r)
					})
					if bug == "unordered" { // the bytes may be right by chance; what is not ordered is reported
						if err == nil {
							require.NotEmpty(t, s.Violations())
						}
						s.Clear()
					} else {
						require.ErrorIs(t, err, want[bug])
					}
					s.kept(t)
				})
			}
		})
	}
}

// behindGate sends what a stream that is held shut is still going to write.
func behindGate(ctx context.Context, r *rank) error {
	b := from(r, make([]int32, 100))
	gate, err := r.stream.Gate()
	if err != nil {
		return err
	}
	fill, err := b.Acquire(ctx, r.stream, coherence.Overwrite)
	if err != nil {
		return err
	}
	me := int32(r.c.Rank() + 1)
	if err := r.stream.Fill(fill.Region(), hal.Pattern32(uint32(me))); err != nil {
		return err
	}
	if err := fill.Release(); err != nil {
		return err
	}
	err = nccl.Allreduce(ctx, r.c, r.stream, b, b, comm.Sum)
	if e := gate.Signal(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return holds(ctx, r, "sum behind a gate", b, func(int) int32 { return 3 })
}

func TestWorkBeforeIsWaitedFor(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		for seed := uint64(0); seed < 3; seed++ {
			require.NoError(t, s.Reset(seed))
			require.NoError(t, s.job(t, 2, behindGate))
		}
	})
}
