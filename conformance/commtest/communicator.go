package commtest

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/bugs"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// group is the part of a communicator that its ranks share.
type group struct {
	job      *Job
	ranks    []int        // in the job
	posted   [][]*request // by receiver: receives without a message, oldest first
	arrived  [][]*message // by receiver: messages without a receive, oldest first
	wires    map[[2]int]*wire
	calls    map[uint64]*collective // operations that some ranks have not begun yet, by number
	made     []uint64               // by rank: collective calls so far
	meetings map[uint64]*meeting
	met      []uint64 // by rank: meetings so far
}

func (j *Job) newGroup(ranks []int) *group {
	n := len(ranks)
	g := &group{job: j, ranks: ranks, posted: make([][]*request, n), arrived: make([][]*message, n), wires: map[[2]int]*wire{},
		calls: map[uint64]*collective{}, made: make([]uint64, n), meetings: map[uint64]*meeting{}, met: make([]uint64, n)}
	j.groups = append(j.groups, g)
	return g
}

// gone reports whether a rank of the group has left or was lost.
func (g *group) gone(rank int) bool {
	return g.job.cfg.bug != bugs.HidesLostRanks && g.job.engines[g.ranks[rank]].state != running
}

// communicator is one rank's view of a group.
type communicator struct {
	engine *engine
	group  *group
	rank   int
}

var (
	_ driver.Comm     = (*communicator)(nil)
	_ driver.Prompter = (*communicator)(nil)
)

func (c *communicator) Rank() int { return c.rank }
func (c *communicator) Size() int { return len(c.group.ranks) }

func (c *communicator) Dup() (driver.Comm, error) {
	return c.meet("Dup", func(int, int) int { return 0 }, 0, 0)
}

func (c *communicator) Split(color, key int) (driver.Comm, error) {
	return c.meet("Split", func(_, color int) int { return color }, color, key)
}

func (c *communicator) SplitShared(key int) (driver.Comm, error) {
	return c.meet("SplitShared", func(rank, _ int) int { return c.group.ranks[rank] / c.group.job.cfg.machine }, 0, key)
}

func (c *communicator) Free() error {
	j := c.group.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if c == c.engine.world {
		return driver.Errorf("Free", driver.ErrInvalidArgument, "the communicator of all ranks is never freed")
	}
	c.engine.comms--
	return nil
}

func (c *communicator) Abort(code int) {
	j := c.group.job
	j.mu.Lock()
	defer j.mu.Unlock()
	err := driver.Errorf("Abort", driver.ErrRankLost, "rank %d of the job aborted it with code %d", c.engine.rank, code)
	j.abort(err)
}

// meeting is a call in which ranks wait for each other.
type meeting struct {
	op     string
	colors []int
	keys   []int
	here   int
	into   []*group // by rank, nil for none
	done   bool
	err    *driver.Error
}

// meet waits until all ranks have made the call, and makes the groups that they asked for.
func (c *communicator) meet(op string, paint func(rank, color int) int, color, key int) (driver.Comm, error) {
	g, j := c.group, c.group.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := c.engine.usable(op); err != nil {
		return nil, err
	}
	n := len(g.ranks)
	turn := g.met[c.rank]
	g.met[c.rank]++
	m := g.meetings[turn]
	if m == nil {
		m = &meeting{op: op, colors: make([]int, n), keys: make([]int, n), into: make([]*group, n)}
		g.meetings[turn] = m
	}
	if m.op != op {
		m.err = driver.Errorf(op, driver.ErrMismatch, "rank %d calls %s while another calls %s", c.rank, op, m.op)
	}
	m.colors[c.rank], m.keys[c.rank] = paint(c.rank, color), key
	if m.here++; m.here == n && m.err == nil {
		m.part(g)
		m.done = true
	}
	if m.here == n {
		delete(g.meetings, turn)
	}
	j.touch()
	for !m.done && m.err == nil {
		if err := c.engine.usable(op); err != nil {
			return nil, err
		}
		for i := range n {
			if g.gone(i) {
				return nil, j.alone(op, g, i)
			}
		}
		j.changed.Wait()
	}
	if m.err != nil {
		return nil, m.err
	}
	into := m.into[c.rank]
	if into == nil {
		return nil, nil
	}
	c.engine.comms++
	return &communicator{engine: c.engine, group: into, rank: slices.Index(into.ranks, g.ranks[c.rank])}, nil
}

// part makes the groups of a meeting that all ranks have joined.
func (m *meeting) part(g *group) {
	if m.op == "Dup" && g.job.cfg.bug == bugs.MixesCommunicators {
		for i := range m.into {
			m.into[i] = g
		}
		return
	}
	order := make([]int, len(g.ranks))
	for i := range order {
		order[i] = i
	}
	if g.job.cfg.bug != bugs.IgnoresKeys {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.keys[a], m.keys[b]) })
	}
	members := map[int][]int{}
	for _, i := range order {
		members[m.colors[i]] = append(members[m.colors[i]], g.ranks[i])
	}
	made := map[int]*group{}
	for i, color := range m.colors {
		if color < 0 && g.job.cfg.bug != bugs.ColorsNobody {
			continue
		}
		if made[color] == nil {
			made[color] = g.job.newGroup(members[color])
		}
		m.into[i] = made[color]
	}
}

// check refuses memory that does not come from Alloc.
func (c *communicator) check(op string, p unsafe.Pointer, n uint64) error {
	if n == 0 || c.engine.memory.has(p, n) {
		return nil
	}
	return driver.Errorf(op, driver.ErrInvalidArgument, "the %d bytes at %#x are not memory of Alloc", n, uintptr(p))
}

// rankError refuses a rank that is not in the group.
func (c *communicator) rankError(op string, rank int) error {
	if rank >= 0 && rank < len(c.group.ranks) {
		return nil
	}
	return &driver.Error{Op: op, Kind: driver.ErrInvalidArgument, Peer: driver.NoPeer, Tag: driver.NoTag,
		Detail: fmt.Sprintf("rank %d is not between 0 and %d", rank, len(c.group.ranks)-1)}
}
