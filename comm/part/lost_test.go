package part_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// mortal is the engine of a rank whose process dies at a call.
type mortal struct {
	driver.Engine
	left atomic.Int64
	die  func()
}

func (m *mortal) call() {
	if m.left.Add(-1) == 0 {
		m.die()
	}
}

func (m *mortal) World() driver.Comm { return &mortalComm{m.Engine.World(), m} }

func (m *mortal) Test(reqs []driver.Request, out []driver.Status) (int, error) {
	m.call()
	return m.Engine.Test(reqs, out)
}

type mortalComm struct {
	driver.Comm
	m *mortal
}

func (c *mortalComm) Dup() (driver.Comm, error) {
	c.m.call()
	d, err := c.Comm.Dup()
	if err != nil {
		return nil, err
	}
	return &mortalComm{d, c.m}, nil
}

func (c *mortalComm) Isend(p unsafe.Pointer, n uint64, dest, tag int) (driver.Request, error) {
	c.m.call()
	return c.Comm.Isend(p, n, dest, tag)
}

func (c *mortalComm) Irecv(p unsafe.Pointer, n uint64, source, tag int) (driver.Request, error) {
	c.m.call()
	return c.Comm.Irecv(p, n, source, tag)
}

func (c *mortalComm) Collective(a driver.Collective) (driver.Request, error) {
	c.m.call()
	return c.Comm.Collective(a)
}

// A rank is lost at any call of a random program. No other rank waits for ever. Each has the right result, or an error that names the lost rank or one that
// has left the job because of it.
func TestRankIsLostInRandomPrograms(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	programs := 60
	if n, err := strconv.Atoi(os.Getenv("HALYARD_SPLIT_SEEDS")); err == nil {
		programs = n
	}
	const limit = 20 * time.Second
	lost, failed, named, right := 0, 0, 0, 0
	for seed := range uint64(programs) {
		rng := rand.New(rand.NewPCG(seed, 54))
		j := randomJob(rng)
		j.ranks, j.shares = 2<<rng.IntN(2), nil
		j.steps += 3
		want := j.serial()
		devices := [][]string{{"host:0"}, {"host:1"}, {"host:1", "host:2"}}[rng.IntN(3)]
		victim, call := rng.IntN(j.ranks), 1+rng.Int64N(60)
		late := seed%4 > 1 // in a launch or in a step, and not when the queue is made
		if late {
			call = 1 + call%20
		}
		world := commtest.New(j.ranks, commtest.EagerLimit(64))
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		var mu sync.Mutex
		errs, died := make([]error, j.ranks), false
		begin := time.Now()
		_ = world.Run(func(e driver.Engine) error {
			rank := e.World().Rank()
			m := &mortal{Engine: e, die: func() { died = true; world.Lose(rank) }}
			arm := func() {
				if rank == victim {
					m.left.Store(call)
				}
			}
			if !late {
				arm()
			}
			c := comm.New(m)
			q := part.Among(ctx, halyard.Open(ctx, devices...), c)
			if late {
				arm()
			}
			x := j.program(seed)(q)
			q.Allgather(x)
			err := q.Err()
			if err == nil {
				assert.Equal(t, want, x.Values(), "seed %d, rank %d", seed, rank)
			}
			mu.Lock()
			errs[rank] = err
			mu.Unlock()
			_, _ = q.Close(), c.Close()
			return nil // an error would abort the job
		})
		cancel()
		world.Close()
		require.Less(t, time.Since(begin), limit/2, "seed %d: %v", seed, errs)
		if !died { // it made fewer calls
			require.NoError(t, errors.Join(errs...), "seed %d", seed)
			continue
		}
		lost++
		for rank, err := range errs {
			switch {
			case rank == victim:
			case err == nil:
				right++
			default:
				failed++
				var e *comm.Error
				require.ErrorAs(t, err, &e, "seed %d", seed)
				require.ErrorIs(t, err, comm.ErrRankLost, "seed %d", seed)
				require.True(t, e.Peer == victim || e.Peer >= 0 && e.Peer != rank && errs[e.Peer] != nil, "seed %d, rank %d: %v", seed, rank, err)
				if e.Peer == victim {
					named++
				}
			}
		}
	}
	t.Logf("%d ranks were lost: %d others failed, of which %d name it and %d one that failed before; %d finished", lost, failed, named, failed-named, right)
	require.Greater(t, lost, programs/3)
}
