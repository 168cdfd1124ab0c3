package commtest

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/bugs"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// collective is one collective operation: the arguments and the request of each rank.
type collective struct {
	number uint64
	args   []driver.Collective
	reqs   []*request // nil for ranks that have not made the call
	here   int
}

func (c *communicator) Collective(a driver.Collective) (driver.Request, error) {
	op := a.Call.String()
	g, j, n := c.group, c.group.job, len(c.group.ranks)
	if a.Call.Rooted() {
		if err := c.rankError(op, a.Root); err != nil {
			return 0, err
		}
	}
	if a.Call.Reduces() && !a.Op.Takes(a.Type) {
		return 0, driver.Errorf(op, driver.ErrInvalidArgument, "%v is not defined for %v", a.Op, a.Type)
	}
	in, out, err := c.extent(&a)
	if err == nil {
		err = c.check(op, a.Send, in)
	}
	if err == nil {
		err = c.check(op, a.Recv, out)
	}
	if err != nil {
		return 0, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := c.engine.usable(op); err != nil {
		return 0, err
	}
	r := &request{engine: c.engine, group: g, rank: c.rank, op: op, peer: driver.NoPeer, tag: driver.NoTag}
	id := c.engine.begin(r)
	number := g.made[c.rank]
	g.made[c.rank]++
	k := g.calls[number]
	if k == nil {
		k = &collective{number: number, args: make([]driver.Collective, n), reqs: make([]*request, n)}
		g.calls[number] = k
	}
	k.args[c.rank], k.reqs[c.rank] = a, r
	if k.here++; k.here == n {
		delete(g.calls, number)
		j.later(func() { g.perform(k) })
		return id, nil
	}
	if j.cfg.bug == bugs.BarrierLetsThrough && a.Call == driver.Barrier || j.cfg.bug == bugs.CompletesReductionsEarly && a.Call == driver.Allreduce {
		r.finish(driver.Status{})
	}
	g.incomplete(k)
	return id, nil
}

// incomplete fails a collective operation that waits for a rank which has left or was lost.
func (g *group) incomplete(k *collective) {
	for i, r := range k.reqs {
		if r == nil && g.gone(i) {
			for _, other := range k.reqs {
				if other != nil {
					other.fail(g.job.alone(other.op, g, i))
				}
			}
			return
		}
	}
}

// extent returns how many bytes this rank's part of the operation uses, counted from Send and from Recv.
func (c *communicator) extent(a *driver.Collective) (in, out uint64, err error) {
	n, root := uint64(len(c.group.ranks)), c.rank == a.Root
	switch a.Call {
	case driver.Barrier:
	case driver.Bcast:
		out = a.Count
	case driver.Reduce:
		in = a.Count * a.Type.Size()
		if root {
			out = in
		}
	case driver.Allreduce:
		in = a.Count * a.Type.Size()
		out = in
	case driver.Gather:
		in = a.Count
		if root {
			out = n * a.Count
		}
	case driver.Scatter:
		out = a.Count
		if root {
			in = n * a.Count
		}
	case driver.Allgather:
		in, out = a.Count, n*a.Count
	case driver.Alltoall:
		in, out = n*a.Count, n*a.Count
	case driver.Gatherv:
		in = a.Count * a.Type.Size()
		if root {
			out = total(a.Recvs) * a.Type.Size()
		}
	case driver.Scatterv:
		out = a.Count * a.Type.Size()
		if root {
			in = total(a.Sends) * a.Type.Size()
		}
	case driver.Alltoallv:
		in, out = total(a.Sends)*a.Type.Size(), total(a.Recvs)*a.Type.Size()
	default:
		err = driver.Errorf(a.Call.String(), driver.ErrInvalidArgument, "no such operation")
	}
	return in, out, err
}

func total(counts []uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// part returns where part i begins and its length, in bytes.
func part(counts []uint64, i int, t driver.Type) (off, n uint64) {
	return total(counts[:i]) * t.Size(), counts[i] * t.Size()
}

// disagreement says how the ranks' arguments contradict each other, "" if they do not.
func (k *collective) disagreement() string {
	a := &k.args[0]
	for i := 1; i < len(k.args); i++ {
		b := &k.args[i]
		differ := func(what string, x, y any) string {
			return fmt.Sprintf("rank 0 has %s %v, rank %d has %v", what, x, i, y)
		}
		switch {
		case a.Call != b.Call:
			return differ("call", a.Call, b.Call)
		case a.Call.Rooted() && a.Root != b.Root:
			return differ("root", a.Root, b.Root)
		case (a.Call.Reduces() || a.Call.Varies()) && a.Type != b.Type:
			return differ("type", a.Type, b.Type)
		case a.Call.Reduces() && a.Op != b.Op:
			return differ("op", a.Op, b.Op)
		case a.Call != driver.Barrier && !a.Call.Varies() && a.Count != b.Count:
			return differ("count", a.Count, b.Count)
		}
	}
	return k.uneven()
}

// uneven says which two ranks have different lengths for one part, "" if none have.
func (k *collective) uneven() string {
	a, root := k.args, k.args[0].Root
	differ := func(from, to int, given, taken uint64) string {
		return fmt.Sprintf("rank %d gives %d elements to rank %d, which takes %d", from, given, to, taken)
	}
	for i := range a {
		switch a[0].Call {
		case driver.Gatherv:
			if n := a[root].Recvs[i]; a[i].Count != n {
				return differ(i, root, a[i].Count, n)
			}
		case driver.Scatterv:
			if n := a[root].Sends[i]; a[i].Count != n {
				return differ(root, i, n, a[i].Count)
			}
		case driver.Alltoallv:
			for to := range a {
				if n, m := a[i].Sends[to], a[to].Recvs[i]; n != m {
					return differ(i, to, n, m)
				}
			}
		}
	}
	return ""
}

// perform carries out an operation that all ranks have begun.
func (g *group) perform(k *collective) {
	j := g.job
	if j.end != nil {
		return
	}
	for i, r := range k.reqs {
		if r.engine.state != running {
			for _, other := range k.reqs {
				other.fail(j.alone(other.op, g, i))
			}
			return
		}
	}
	if s := k.disagreement(); s != "" {
		for _, r := range k.reqs {
			r.fail(driver.Errorf(r.op, driver.ErrMismatch, "%s", s))
		}
		return
	}
	k.compute(j.cfg.bug)
	for _, r := range k.reqs {
		r.finish(driver.Status{})
	}
}

// copyOf returns a copy of n bytes at an offset from p.
func copyOf(p unsafe.Pointer, off, n uint64) []byte {
	if n == 0 {
		return nil
	}
	return slices.Clone(view(unsafe.Add(p, off), n))
}

func put(p unsafe.Pointer, off uint64, data []byte) {
	if len(data) > 0 {
		copy(view(unsafe.Add(p, off), uint64(len(data))), data)
	}
}

// compute implements the collective operations by their definition. It reads all memory before it writes any, so that operations in place
// need no case of their own.
func (k *collective) compute(bug bugs.Bug) {
	a, n := k.args, len(k.args)
	root := a[0].Root
	if bug == bugs.IgnoresRoot {
		root = 0
	}
	type piece struct {
		to   int
		off  uint64
		data []byte
	}
	var plan []piece
	give := func(from int, off, count uint64, to int, at uint64) {
		if bug == bugs.IgnoresOwnPart && from == to {
			return
		}
		plan = append(plan, piece{to, at, copyOf(a[from].Send, off, count)})
	}
	elements := func(i int, count uint64) []byte { return copyOf(a[i].Send, 0, count*a[i].Type.Size()) }
	fold := func(first, last int, count uint64) []byte {
		acc := elements(first, count)
		for i := first + 1; i < last; i++ {
			if bug == bugs.ReducesPairs && i == 2 {
				continue
			}
			reduce(acc, elements(i, count), a[0].Type, a[0].Op, bug)
		}
		return acc
	}
	switch count := a[0].Count; a[0].Call {
	case driver.Bcast:
		data := copyOf(a[root].Recv, 0, count)
		for i := range a {
			plan = append(plan, piece{i, 0, data})
		}
	case driver.Reduce:
		plan = append(plan, piece{root, 0, fold(0, n, count)})
	case driver.Allreduce:
		all := fold(0, n, count)
		for i := range a {
			if bug == bugs.ReducesAtRankZero && i > 0 {
				continue
			}
			plan = append(plan, piece{i, 0, all})
		}
	case driver.Gather:
		for i := range a {
			give(i, 0, count, root, uint64(i)*count)
		}
	case driver.Scatter:
		for i := range a {
			give(root, uint64(i)*count, count, i, 0)
		}
	case driver.Allgather:
		for i := range a {
			for to := range a {
				give(i, 0, count, to, uint64(i)*count)
			}
		}
	case driver.Alltoall:
		for i := range a {
			for to := range a {
				give(i, uint64(to)*count, count, to, uint64(i)*count)
			}
		}
	case driver.Gatherv:
		for i := range a {
			at, n := part(a[root].Recvs, i, a[0].Type)
			give(i, 0, n, root, at)
		}
	case driver.Scatterv:
		for i := range a {
			off, n := part(a[root].Sends, i, a[0].Type)
			give(root, off, n, i, 0)
		}
	case driver.Alltoallv:
		for i := range a {
			for to := range a {
				off, n := part(a[i].Sends, to, a[0].Type)
				at, _ := part(a[to].Recvs, i, a[0].Type)
				give(i, off, n, to, at)
			}
		}
	}
	for _, p := range plan {
		if bug == bugs.RefusesInPlace && a[p.to].InPlace(p.to) {
			continue
		}
		put(a[p.to].Recv, p.off, p.data)
	}
}
