package commtest

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/bugs"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// message is a message that was sent and has not been received.
type message struct {
	source, dest, tag int
	n                 uint64
	data              []byte   // a copy, if the message was short enough
	send              *request // where the bytes still are, if there is no copy
}

// wire holds the messages from one rank of a group to another that have not arrived yet, in their order.
type wire struct {
	group *group
	queue []*message
}

func (m *message) leftover(g *group) string {
	return fmt.Sprintf("rank %d sent %d bytes with tag %d to rank %d, which did not receive them", g.ranks[m.source], m.n, m.tag, g.ranks[m.dest])
}

func view(p unsafe.Pointer, n uint64) []byte { return unsafe.Slice((*byte)(p), n) }

func (c *communicator) Isend(p unsafe.Pointer, n uint64, dest, tag int) (driver.Request, error) {
	const op = "Isend"
	if err := c.rankError(op, dest); err != nil {
		return 0, err
	}
	if err := c.check(op, p, n); err != nil {
		return 0, err
	}
	g, j := c.group, c.group.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := c.engine.usable(op); err != nil {
		return 0, err
	}
	r := &request{engine: c.engine, group: g, rank: c.rank, op: op, p: p, n: n, peer: dest, tag: tag}
	id := c.engine.begin(r)
	if g.gone(dest) && (n > j.cfg.eager || j.engines[g.ranks[dest]].state == lost) {
		r.fail(j.alone(op, g, dest))
		return id, nil
	}
	m := &message{source: c.rank, dest: dest, tag: tag, n: n}
	if n <= j.cfg.eager {
		m.data = slices.Clone(view(p, n))
		r.finish(driver.Status{})
	} else {
		m.send = r
		if j.cfg.bug == bugs.CompletesSendsEarly {
			r.finish(driver.Status{})
		}
	}
	j.sent++
	switch {
	case j.cfg.bug == bugs.Drops && j.sent%7 == 0, j.cfg.bug == bugs.DropsEmpty && n == 0:
		r.finish(driver.Status{})
		return id, nil
	case j.cfg.bug == bugs.Duplicates && m.send == nil:
		twin := *m
		g.carry(&twin)
	}
	g.carry(m)
	return id, nil
}

// carry puts a message on its wire. Without an adversary it arrives at once.
func (g *group) carry(m *message) {
	if !g.job.cfg.adversary {
		g.arrive(m)
		return
	}
	k := [2]int{m.source, m.dest}
	w := g.wires[k]
	if w == nil {
		w = &wire{group: g}
		g.wires[k] = w
	}
	if w.queue = append(w.queue, m); len(w.queue) == 1 {
		g.job.moving = append(g.job.moving, w)
	}
}

func (r *request) takes(m *message) bool {
	return (r.peer == driver.AnySource || r.peer == m.source) && (r.tag == driver.AnyTag || r.tag == m.tag)
}

// arrive gives a message to the oldest receive that takes it, or keeps it for a later one.
func (g *group) arrive(m *message) {
	if g.gone(m.dest) {
		if m.send != nil {
			m.send.fail(g.job.alone("Isend", g, m.dest))
			return
		}
	}
	q := g.posted[m.dest]
	if i := slices.IndexFunc(q, func(r *request) bool { return r.takes(m) }); i >= 0 {
		r := q[i]
		g.posted[m.dest] = slices.Delete(q, i, i+1)
		g.match(r, m)
		return
	}
	at := len(g.arrived[m.dest])
	if g.job.cfg.bug == bugs.Overtakes {
		at = 0
	}
	g.arrived[m.dest] = slices.Insert(g.arrived[m.dest], at, m)
}

func (c *communicator) Irecv(p unsafe.Pointer, n uint64, source, tag int) (driver.Request, error) {
	const op = "Irecv"
	if source != driver.AnySource {
		if err := c.rankError(op, source); err != nil {
			return 0, err
		}
	}
	if err := c.check(op, p, n); err != nil {
		return 0, err
	}
	g, j := c.group, c.group.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := c.engine.usable(op); err != nil {
		return 0, err
	}
	r := &request{engine: c.engine, group: g, rank: c.rank, op: op, p: p, n: n, peer: source, tag: tag, receives: true}
	id := c.engine.begin(r)
	if j.cfg.bug == bugs.IgnoresTags {
		r.tag = driver.AnyTag
	}
	if j.cfg.bug == bugs.CompletesReceivesEarly && source >= 0 {
		r.finish(driver.Status{Source: source, Tag: tag, Bytes: n})
	}
	q := g.arrived[c.rank]
	if i := slices.IndexFunc(q, r.takes); i >= 0 {
		m := q[i]
		g.arrived[c.rank] = slices.Delete(q, i, i+1)
		g.match(r, m)
		return id, nil
	}
	g.posted[c.rank] = append(g.posted[c.rank], r)
	g.hopeless(r)
	return id, nil
}

// Iprobe asks whether a message has arrived.
func (c *communicator) Iprobe(source, tag int) (driver.Status, bool, error) {
	const op = "Iprobe"
	if source != driver.AnySource {
		if err := c.rankError(op, source); err != nil {
			return driver.Status{}, false, err
		}
	}
	g, j := c.group, c.group.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := c.engine.usable(op); err != nil {
		return driver.Status{}, false, err
	}
	j.step()
	r := &request{engine: c.engine, group: g, rank: c.rank, op: op, peer: source, tag: tag, receives: true}
	if i := slices.IndexFunc(g.arrived[c.rank], r.takes); i >= 0 {
		m := g.arrived[c.rank][i]
		if j.cfg.bug == bugs.ProbesTake {
			g.arrived[c.rank] = slices.Delete(g.arrived[c.rank], i, i+1)
		}
		return driver.Status{Source: m.source, Tag: m.tag, Bytes: m.n}, true, nil
	}
	g.hopeless(r)
	if r.done {
		return driver.Status{}, false, r.status.Err
	}
	c.engine.tried()
	return driver.Status{}, false, nil
}

// PromptSend calls Isend, and Test once.
func (c *communicator) PromptSend(p unsafe.Pointer, n uint64, dest, tag int) (driver.Request, driver.Status, error) {
	id, err := c.Isend(p, n, dest, tag)
	return c.ask(id, err)
}

// PromptRecv calls Irecv, and Test once.
func (c *communicator) PromptRecv(p unsafe.Pointer, n uint64, source, tag int) (driver.Request, driver.Status, error) {
	id, err := c.Irecv(p, n, source, tag)
	return c.ask(id, err)
}

func (c *communicator) ask(id driver.Request, err error) (driver.Request, driver.Status, error) {
	if err != nil {
		return 0, driver.Status{}, err
	}
	reqs, out := [1]driver.Request{id}, [1]driver.Status{}
	_, err = c.engine.Test(reqs[:], out[:])
	return reqs[0], out[0], err
}

// withdraw removes a receive that has no message yet, and reports whether there was such a receive.
func (g *group) withdraw(r *request) bool {
	i := slices.Index(g.posted[r.rank], r)
	if i >= 0 {
		g.posted[r.rank] = slices.Delete(g.posted[r.rank], i, i+1)
	}
	return i >= 0
}

// match moves a message into the memory of a receive.
func (g *group) match(r *request, m *message) {
	g.job.later(func() { g.move(r, m) })
}

func (g *group) move(r *request, m *message) {
	bug := g.job.cfg.bug
	if r.done && bug != bugs.CompletesReceivesEarly {
		return // the job was aborted
	}
	if m.send != nil {
		if m.send.engine.state != running {
			r.fail(g.job.alone(r.op, g, m.source))
			return
		}
		defer m.send.finish(driver.Status{})
	}
	s := driver.Status{Source: m.source, Tag: m.tag, Bytes: m.n, Cancelled: r.cancelled}
	if bug == bugs.TruncatesSilently {
		s.Bytes = min(m.n, r.n)
	} else if m.n > r.n {
		s.Err = &driver.Error{Op: r.op, Kind: driver.ErrTruncated, Peer: m.source, Tag: m.tag, Bytes: r.n, Detail: fmt.Sprintf("the message has %d bytes", m.n)}
	}
	n := min(m.n, r.n)
	switch bug {
	case bugs.Shortens:
		if n > 64 {
			n, s.Bytes = n-1, s.Bytes-1
		}
	case bugs.LosesTail:
		n -= min(n/1000, 1)
	case bugs.WrongSource:
		s.Source = 0
	case bugs.WrongTag:
		if r.tag == driver.AnyTag {
			s.Tag = 0
		}
	case bugs.WrongLength:
		s.Bytes = r.n
	case bugs.WritesBeyond:
		if r.n > n {
			n++
		}
	case bugs.Overruns:
		n = min(m.n, r.n+1)
	}
	if bug == bugs.WritesBeyond && n > m.n {
		view(r.p, n)[n-1] ^= 0xff
		n--
	}
	if n > 0 {
		if m.send != nil {
			copy(view(r.p, n), view(m.send.p, n))
		} else {
			copy(view(r.p, n), m.data)
		}
	}
	r.finish(s)
}

// hopeless fails a receive whose message cannot come any more.
func (g *group) hopeless(r *request) {
	if r.done {
		return
	}
	j := g.job
	if r.peer != driver.AnySource {
		if g.gone(r.peer) && r.peer != r.rank && g.quiet(r.peer, r.rank) {
			g.withdraw(r)
			r.fail(j.alone(r.op, g, r.peer))
		}
		return
	}
	// A lost rank might have sent the message, so without it the receive fails. A rank that has left had nothing more to send, so without
	// it the receive fails only if no other rank is left.
	missing, others := -1, 0
	for i := range g.ranks {
		switch {
		case i == r.rank:
			others++ // a rank may send to itself
		case !g.gone(i) || !g.quiet(i, r.rank):
			others++
		case j.engines[g.ranks[i]].state == lost:
			missing = i
		case missing < 0:
			missing = i
		}
	}
	if missing >= 0 && (others <= 1 || j.engines[g.ranks[missing]].state == lost) {
		g.withdraw(r)
		r.fail(j.alone(r.op, g, missing))
	}
}

// quiet reports whether no message is on its way from one rank to another.
func (g *group) quiet(from, to int) bool {
	w := g.wires[[2]int{from, to}]
	return w == nil || len(w.queue) == 0
}

// without fails all operations that cannot be done without a rank of the group.
func (g *group) without(rank int) {
	j := g.job
	for to := range g.arrived {
		g.arrived[to] = slices.DeleteFunc(g.arrived[to], func(m *message) bool {
			switch {
			case m.send == nil:
				return false
			case m.source == rank:
				return true
			case to == rank:
				m.send.fail(j.alone("Isend", g, rank))
				return true
			}
			return false
		})
		for _, r := range slices.Clone(g.posted[to]) {
			g.hopeless(r)
		}
	}
	for _, c := range g.calls {
		g.incomplete(c)
	}
}
