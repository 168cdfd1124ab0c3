package commtest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// wait tests requests until all are done, and returns the first error.
func wait(e driver.Engine, reqs ...driver.Request) ([]driver.Status, error) {
	out := make([]driver.Status, len(reqs))
	for left := len(reqs); left > 0; runtime.Gosched() {
		n, err := e.Test(reqs, out)
		if err != nil {
			return out, err
		}
		left -= n
	}
	for _, s := range out {
		if s.Err != nil {
			return out, s.Err
		}
	}
	return out, nil
}

// space is memory of an engine as a slice, and the function that frees it.
func space(e driver.Engine, n int) ([]byte, func()) {
	p, err := e.Alloc(uint64(max(n, 1)))
	if err != nil {
		panic(err)
	}
	return unsafe.Slice((*byte)(p), n), func() { e.Free(p, uint64(max(n, 1))) }
}

func addr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// modes are the ways in which MPI may behave.
var modes = map[string][]commtest.Option{
	"default":                   nil,
	"rendezvous":                {commtest.EagerLimit(0)},
	"eager":                     {commtest.EagerLimit(1 << 62)},
	"adversary":                 {commtest.Adversary(1)},
	"adversary with rendezvous": {commtest.Adversary(2), commtest.EagerLimit(0)},
}

func TestMessagesOfRandomLengthsGoRound(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			commtest.Run(t, 4, func(e driver.Engine) error {
				w := e.World()
				to, from := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
				rng := rand.New(rand.NewPCG(7, 7))
				src, freeSrc := space(e, 20000)
				dst, freeDst := space(e, 20000)
				defer freeSrc()
				defer freeDst()
				for i := range 50 {
					n := rng.IntN(20000)
					for k := range n {
						src[k] = byte(k + w.Rank() + i)
					}
					r, err := w.Irecv(addr(dst), 20000, from, i)
					if err != nil {
						return err
					}
					s, err := w.Isend(addr(src), uint64(n), to, i)
					if err != nil {
						return err
					}
					out, err := wait(e, r, s)
					if err != nil {
						return err
					}
					if out[0] != (driver.Status{Source: from, Tag: i, Bytes: uint64(n)}) {
						return fmt.Errorf("round %d: %+v", i, out[0])
					}
					for k := range n {
						if dst[k] != byte(k+from+i) {
							return fmt.Errorf("round %d: byte %d is %d", i, k, dst[k])
						}
					}
				}
				return nil
			}, opts...)
		})
	}
}

func TestALongSendWaitsForItsReceive(t *testing.T) {
	j := commtest.New(2)
	defer j.Close()
	a, b := j.Engine(0), j.Engine(1)
	src, _ := space(a, 5000)
	dst, _ := space(b, 5000)
	short, err := a.World().Isend(addr(src), 4096, 1, 0)
	require.NoError(t, err)
	long, err := a.World().Isend(addr(src), 4097, 1, 0)
	require.NoError(t, err)
	reqs, out := []driver.Request{short, long}, make([]driver.Status, 2)
	n, err := a.Test(reqs, out)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Zero(t, reqs[0])
	src[0], src[4096] = 1, 2 // the short one has left, the long one has not
	for i, want := range []byte{0, 1} {
		r, err := b.World().Irecv(addr(dst), 5000, 0, 0)
		require.NoError(t, err)
		_, err = wait(b, r)
		require.NoError(t, err)
		require.Equal(t, want, dst[0], i)
	}
	require.Equal(t, byte(2), dst[4096])
	_, err = wait(a, long)
	require.NoError(t, err)
}

func TestARankThatIsAwaitedInVain(t *testing.T) {
	for _, row := range []struct {
		name string
		rest func(e driver.Engine, mem []byte) (driver.Request, error)
	}{
		{"receive", func(e driver.Engine, m []byte) (driver.Request, error) { return e.World().Irecv(addr(m), 8, 1, 0) }},
		{"receive from any rank", func(e driver.Engine, m []byte) (driver.Request, error) {
			return e.World().Irecv(addr(m), 8, driver.AnySource, 0)
		}},
		{"long send", func(e driver.Engine, m []byte) (driver.Request, error) {
			return e.World().Isend(addr(m), 8000, 1, 0)
		}},
		{"collective", func(e driver.Engine, m []byte) (driver.Request, error) {
			return e.World().Collective(driver.Collective{Call: driver.Barrier})
		}},
		{"duplicate", func(e driver.Engine, m []byte) (driver.Request, error) { _, err := e.World().Dup(); return 0, err }},
	} {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprint(row.name, " lost before ", before), func(t *testing.T) {
				j := commtest.New(2)
				defer j.Close()
				if before {
					j.Lose(1)
				} else if row.name == "duplicate" {
					go func() { j.Lose(1) }()
				}
				m, _ := space(j.Engine(0), 8000)
				r, err := row.rest(j.Engine(0), m)
				if err == nil {
					j.Lose(1)
					_, err = wait(j.Engine(0), r)
				}
				require.ErrorIs(t, err, driver.ErrRankLost)
				require.Contains(t, err.Error(), "rank 1 was lost")
				_, err = j.Engine(1).World().Isend(nil, 0, 0, 0)
				require.ErrorIs(t, err, driver.ErrRankLost, "its own calls fail too")
			})
		}
	}
}

func TestAMessageOfARankThatLeftIsStillReceived(t *testing.T) {
	commtest.Run(t, 2, func(e driver.Engine) error {
		m, free := space(e, 8)
		defer free()
		if e.World().Rank() == 1 {
			m[0] = 42
			s, err := e.World().Isend(addr(m), 8, 0, 0)
			if err != nil {
				return err
			}
			_, err = wait(e, s)
			return err
		}
		r, err := e.World().Irecv(addr(m), 8, 1, 0)
		if err != nil {
			return err
		}
		if _, err = wait(e, r); err != nil || m[0] != 42 {
			return fmt.Errorf("received %d: %w", m[0], err)
		}
		r, err = e.World().Irecv(addr(m), 8, 1, 0)
		if err != nil {
			return err
		}
		if _, err = wait(e, r); !errors.Is(err, driver.ErrRankLost) {
			return fmt.Errorf("received from a rank that left: %w", err)
		}
		return nil
	}, commtest.Adversary(3))
}

func TestAFailingRankEndsTheJob(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error":  func() error { return errors.New("out of luck") },
		"panic":  func() error { panic("out of luck") },
		"goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			err := commtest.Execute(3, func(e driver.Engine) error {
				if e.World().Rank() == 2 {
					return fail()
				}
				r, err := e.World().Collective(driver.Collective{Call: driver.Barrier})
				if err == nil {
					_, err = wait(e, r)
				}
				return err
			})
			require.ErrorContains(t, err, "rank 2: ")
			require.ErrorContains(t, err, "rank 0: Barrier: a rank was lost: rank 2 of the job aborted it with code 1")
		})
	}
}

func TestADeadlockIsFoundWithoutAClock(t *testing.T) {
	err := commtest.Execute(2, func(e driver.Engine) error {
		m, _ := space(e, 8)
		r, err := e.World().Irecv(addr(m), 8, 1-e.World().Rank(), 0)
		if err == nil {
			_, err = wait(e, r)
		}
		return err
	}, commtest.Stuck(100))
	require.ErrorIs(t, err, driver.ErrTimeout)
	require.ErrorContains(t, err, "no rank can go on")
}

func TestLeftoversAreNamed(t *testing.T) {
	err := commtest.Execute(2, func(e driver.Engine) error {
		m, _ := space(e, 8)
		w, err := e.World().Dup()
		if err == nil && w.Rank() == 0 {
			_, err = w.Isend(addr(m), 8, 1, 5)
		}
		return err
	})
	for _, s := range []string{
		"rank 0 sent 8 bytes with tag 5 to rank 1, which did not receive them",
		"rank 0 did not test Isend of 8 bytes (dest 1, tag 5) until it was done",
		"rank 1 did not free 1 communicators", "rank 1 did not free 8 bytes",
	} {
		require.ErrorContains(t, err, s)
	}
}

func TestMemoryOfOthersIsRefused(t *testing.T) {
	j := commtest.New(1)
	defer j.Close()
	w := j.Engine(0).World()
	m, free := space(j.Engine(0), 100)
	heap := make([]byte, 8)
	_, err := w.Isend(addr(heap), 8, 0, 0)
	require.ErrorIs(t, err, driver.ErrInvalidArgument)
	_, err = w.Irecv(unsafe.Add(addr(m), 93), 8, 0, 0)
	require.ErrorIs(t, err, driver.ErrInvalidArgument, "beyond the end")
	_, err = w.Collective(driver.Collective{Call: driver.Allreduce, Type: driver.Float64, Count: 1, Send: addr(m), Recv: addr(heap)})
	require.ErrorIs(t, err, driver.ErrInvalidArgument)
	free()
	_, err = w.Isend(addr(m), 8, 0, 0)
	require.ErrorIs(t, err, driver.ErrInvalidArgument, "freed")
}

func TestCollectivesThatDisagreeAreRefused(t *testing.T) {
	for name, other := range map[string]driver.Collective{
		"call":  {Call: driver.Allgather, Count: 1},
		"type":  {Call: driver.Allreduce, Count: 1, Type: driver.Int16},
		"op":    {Call: driver.Allreduce, Count: 1, Op: driver.Max},
		"count": {Call: driver.Allreduce, Count: 2},
	} {
		t.Run(name, func(t *testing.T) {
			err := commtest.Execute(2, func(e driver.Engine) error {
				a, _ := space(e, 64)
				b, _ := space(e, 64)
				c := driver.Collective{Call: driver.Allreduce, Count: 1}
				if e.World().Rank() == 1 {
					c = other
				}
				c.Send, c.Recv = addr(a), addr(b)
				r, err := e.World().Collective(c)
				if err == nil {
					_, err = wait(e, r)
				}
				return err
			})
			require.ErrorIs(t, err, driver.ErrMismatch)
			require.ErrorContains(t, err, "rank 0 has "+name)
		})
	}
}

func TestSplitSharedFollowsTheMachines(t *testing.T) {
	commtest.Run(t, 4, func(e driver.Engine) error {
		c, err := e.World().SplitShared(-e.World().Rank())
		if err != nil {
			return err
		}
		if want := 1 - e.World().Rank()%2; c.Size() != 2 || c.Rank() != want {
			return fmt.Errorf("rank %d of %d", c.Rank(), c.Size())
		}
		return c.Free()
	}, commtest.RanksPerMachine(2))
}
