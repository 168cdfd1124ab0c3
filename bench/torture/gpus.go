//go:build cuda && hip && opencl && linux

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/nccl"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
	"github.com/go-halyard/halyard/internal/testing/simnccl"
)

// collectives is the simulated NCCL, which is built when it is first needed.
var collectives = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(os.TempDir(), "halyard-simgpu")
	cuda, hip, err := simgpu.Build(dir)
	if err != nil {
		return "", err
	}
	lib, _, err := simnccl.Build(dir, cuda, hip)
	return lib, errors.Join(err, os.Setenv(nccl.EnvLibrary, lib))
})

// ranksOfGPUs are two ranks with a simulated CUDA device each, whose streams combine and send what kernels and copies have written. With some
// seeds a rank gives up in the middle, and the others must be told.
func ranksOfGPUs(r *run) {
	lib, err := collectives()
	r.must(err)
	const ranks = 2
	devs := r.devices(simulated[:ranks]...)
	id, err := nccl.NewID(devs[0])
	r.must(err)
	steps, quits := 3+r.rng.IntN(8), -1
	if r.rng.IntN(3) == 0 {
		quits = r.rng.IntN(steps)
		r.fault(1)
	}
	var all sync.WaitGroup
	for rank := range ranks {
		all.Go(func() {
			r.guard(func() { r.explain(r.rankOfGPU(id, rank, ranks, devs[rank], steps, quits)) })
		})
	}
	all.Wait()
	for left := 1; left > 0; runtime.Gosched() { // the library's memory goes back before its device
		left, err = simnccl.Reap(lib)
		r.must(err)
	}
}

// rankOfGPU is what one rank does. All ranks draw the same random numbers, so each knows what the others have.
func (r *run) rankOfGPU(id nccl.ID, rank, ranks int, dev *hal.Device, steps, quits int) (err error) {
	rng := rand.New(rand.NewPCG(r.seed, 0x9cc1))
	s := r.stream(dev)
	c, err := nccl.Join(r.ctx, id, rank, ranks, dev)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	n := ranks * (1 + rng.IntN(200))
	var made []*buffer.Buffer[uint32]
	buf := func(n int) *buffer.Buffer[uint32] {
		b, err := buffer.New[uint32](n)
		r.must(err)
		made = append(made, b)
		return b
	}
	defer func() {
		if err != nil {
			c.Abort()
		}
		err = errors.Join(err, c.Close(context.WithoutCancel(r.ctx)))
		_ = s.Sync(context.WithoutCancel(r.ctx)) // work of an aborted communicator fails
		for _, b := range made {
			err = errors.Join(err, b.Close())
		}
		err = errors.Join(err, s.Close())
	}()
	g := &gpuRank{r, c, s, rng, ranks, buf(n), buf(n * ranks), buf(n / ranks)}
	for step := range steps {
		r.actions.Add(1)
		if step == quits && rank == ranks-1 {
			c.Abort()
		}
		result, want, err := g.combine()
		if err == nil && rng.IntN(2) == 0 {
			err = c.Sync(r.ctx, s)
		}
		if err == nil {
			err = result.View(r.ctx, func(got []uint32) error {
				bad := 0
				for i, x := range got {
					if x != want(i) {
						bad += 4
					}
				}
				if c.Err() == nil { // else they are not to be believed: see nccl.Comm.Sync
					r.wrong(bad, "step %d on rank %d of %d GPUs", step, rank, ranks)
				}
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gpuRank is a rank with its buffers.
type gpuRank struct {
	*run
	c                 *nccl.Comm
	s                 *hal.Stream
	rng               *rand.Rand
	ranks             int
	mine, whole, part *buffer.Buffer[uint32]
}

// combine does one of the collective operations, and returns what has its result, and what that must be.
func (g *gpuRank) combine() (result *buffer.Buffer[uint32], want func(i int) uint32, err error) {
	ctx, c, s, ranks, mine, rank, n := g.ctx, g.c, g.s, g.ranks, g.mine, g.c.Rank(), g.mine.Len()
	v, root := g.rng.Uint32N(1<<20), g.rng.IntN(ranks)
	of := func(rank int) uint32 { return v + uint32(rank) }
	if err = g.fill(mine, s, of(rank)); err != nil {
		return nil, nil, err
	}
	sum := uint32(c.Size())*v + uint32(ranks*(ranks-1)/2)
	result, want = mine, func(int) uint32 { return sum }
	switch g.rng.IntN(6) {
	case 0:
		err = nccl.Allreduce(ctx, c, s, mine, mine, comm.Sum)
	case 1:
		err = nccl.Bcast(ctx, c, s, mine, root)
		want = func(int) uint32 { return of(root) }
	case 2:
		err = nccl.Allgather(ctx, c, s, mine, g.whole)
		result, want = g.whole, func(i int) uint32 { return of(i / n) }
	case 3:
		err = nccl.ReduceScatter(ctx, c, s, mine, g.part, comm.Sum)
		result = g.part
	case 4:
		if err = nccl.Reduce(ctx, c, s, mine, mine, comm.Sum, root); err == nil {
			err = nccl.Bcast(ctx, c, s, mine, root)
		}
	default:
		right, left := (rank+1)%ranks, (rank+ranks-1)%ranks
		var messages []nccl.Message
		for i := range ranks { // the left has the same for each part of mine
			messages = append(messages, nccl.Send(g.part, right), nccl.Recv(g.run.part(mine, i*n/ranks, (i+1)*n/ranks), left))
		}
		if err = g.fill(g.part, s, of(rank)); err == nil {
			err = nccl.Group(ctx, c, s, messages...)
		}
		want = func(int) uint32 { return of(left) }
	}
	return result, want, err
}
