package buffer

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/resident"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Want is one of the accesses of an [AcquireAll]: the elements of a buffer, and the mode of access. [Buffer.Want]
// makes one.
type Want struct {
	s     *storage
	own   *owner
	part  part
	under *access // the access of the same storage that this is a part of, or nil
	parts []part  // several parts, whose hull is part; nil if there is one
	of    *part   // if Regions returns more elements than part has: these, else nil
	in    int32   // index of its member in the group
	elem  uint32  // bytes of an element
	err   error   // the reason if the elements cannot be acquired
	call  string  // see For
}

// Want names the elements for [AcquireAll]. mode is coherence.Read, ReadWrite or Overwrite, as for Acquire.
func (b *Buffer[T]) Want(mode coherence.Mode) Want {
	if b == nil {
		return Want{}
	}
	return Want{s: b.s, own: b.own, elem: uint32(b.elementSize()), part: part{Lo: b.lo, Hi: b.hi, Mode: protocol.Action(mode)}}
}

// NoWant returns a want for elements that cannot be acquired: [AcquireAll] fails with reason. It is for packages whose types are made of
// buffers.
func NoWant(reason error) Want { return Want{err: reason} }

// Err returns why the elements cannot be acquired on any stream: there is no buffer, it is closed, or it is frozen and they would be
// written. Otherwise it returns nil.
func (w Want) Err() error {
	const op = "Want"
	switch {
	case w.err != nil:
		return w.err
	case w.s == nil:
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil or zero buffer")
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.s.usable(op, w.part.Writes())
}

// Overlap returns how many bytes of a buffer both wants have.
func (w Want) Overlap(v Want) (bytes uint64) {
	if lo, hi := max(w.part.Lo, v.part.Lo), min(w.part.Hi, v.part.Hi); w.s != nil && w.s == v.s && lo < hi {
		return hi - lo
	}
	return 0
}

// For returns the want for a call with a name of its own, which errors and [Activity.Cause] have in place of AcquireAll or ReserveAll.
// Wants of the same buffer are one access, which has the name of one of them. The call must release its leases before it returns, and
// acquire no others meanwhile: accesses that lack memory wait for leases with a name.
func (w Want) For(call string) Want {
	w.call = call
	return w
}

// Leases are the leases of one [AcquireAll]. They end together. A Leases is a small value that may be copied; after Release every copy is
// stale.
type Leases struct {
	g   *group
	gen uint64
}

// group is several accesses for one piece of work, one in each storage.
type group struct {
	gen    atomic.Uint64
	op     string
	stream *hal.Stream // nil on the host
	wants  []Want      // in the order of the caller
	sorted []int       // indexes of wants, sorted by storage and by the beginnings of their ranges
	list   []member
	parts  []part
	mu     mutex // held by each call on the leases, so that Release does not run during another

	marks    []*order.Work // see mark
	of       order.Launches
	renewal  order.Renewal // scratch
	reserved bool          // begun by ReserveAll, and not yet committed
}

// member is the access of a group in one storage.
type member struct {
	s *storage
	x *access
	q request
}

var groups = sync.Pool{New: func() any { return new(group) }}

// AcquireAll acquires leases on many buffers for one piece of work on the stream. It acquires none, and changes no buffer, before it can
// acquire all. It waits until ctx ends for accesses that exclude one of the leases, and cannot deadlock with another AcquireAll, whatever
// the order of the arguments. Wants of the same buffer, or of slices of one buffer, may overlap. They are then one access, which reads
// the elements that any of them reads, and writes the elements that any of them writes.
//
// The work counts as reading every element that is not acquired with coherence.Overwrite: if the copy of such an element fails, the
// elements that the work writes are lost. Leases.Release ends all leases with one event of the driver.
func AcquireAll(ctx context.Context, stream *hal.Stream, wants ...Want) (Leases, error) {
	return acquireLeases(ctx, "AcquireAll", stream, wants, false)
}

// ReserveAll is [AcquireAll] for work that may be refused: the elements of leases for writing become stale elsewhere only with
// [Leases.Commit], which the program calls after it has enqueued the work. Leases that are released without Commit change nothing, and no
// later access waits for them.
func ReserveAll(ctx context.Context, stream *hal.Stream, wants ...Want) (Leases, error) {
	return acquireLeases(ctx, "ReserveAll", stream, wants, true)
}

func acquireLeases(ctx context.Context, op string, stream *hal.Stream, wants []Want, reserve bool) (Leases, error) {
	if stream == nil {
		return Leases{}, noStream(op)
	}
	op, err := checkWants(op, wants)
	if err != nil {
		return Leases{}, err
	}
	if err := layer.Err(stream); err != nil {
		return Leases{}, err
	}
	g, err := acquireAll(ctx, op, stream, reserve, wants...)
	if err != nil {
		return Leases{}, err
	}
	return Leases{g, g.gen.Load()}, nil
}

// checkWants returns an error if one of the wants cannot be acquired, and the name of the call.
func checkWants(op string, wants []Want) (call string, err error) {
	if len(wants) == 0 {
		return op, hal.Errorf(op, hal.ErrInvalidArgument, "no buffers")
	}
	op = cmp.Or(wants[0].call, op)
	for i := range wants {
		if wants[i].err != nil {
			return op, wants[i].err
		}
		if wants[i].s == nil {
			return op, hal.Errorf(op, hal.ErrInvalidArgument, "argument %d is not the Want of a buffer", i)
		}
		if !validMode(wants[i].part.Mode) {
			return op, modeError(op, wants[i].part.Mode)
		}
	}
	return op, nil
}

// acquireAll is AcquireAll, or ReserveAll, with arguments that were checked before. A nil stream means the host.
func acquireAll(ctx context.Context, op string, stream *hal.Stream, reserve bool, wants ...Want) (*group, error) {
	if ctx == nil {
		return nil, layer.Ended(op, ctx)
	}
	g := groups.Get().(*group)
	g.op, g.stream, g.reserved = op, stream, reserve
	g.wants = append(g.wants[:0], wants...)
	g.arrange()
	if ctx.Err() == nil && g.beginAtOnce() {
		return g, nil
	}
	turn, ready := request{op: op}, false
	defer func() { // also if an observer panics
		if !ready {
			g.abandon(turn.turn)
			for i := range g.list {
				g.list[i].q.leave()
			}
			g.discard()
		}
	}()
	for {
		var err error
		for i := 0; i < len(g.list) && err == nil; i++ { // as storage.begin does, for all accesses
			m := &g.list[i]
			m.q.turn = turn.turn
			err = m.admit(ctx)
		}
		if err == nil {
			err = g.prepare(ctx, reserve, &turn)
		}
		if err != nil {
			g.abandon(turn.turn)
		}
		again, err := turn.again(ctx, err)
		if ready = err == nil && !again; ready {
			return g, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// admit is storage.admit for one access.
func (m *member) admit(ctx context.Context) (err error) {
	m.s.mu.Lock()
	defer m.s.unlock()
	m.x, err = m.s.admit(ctx, &m.q)
	return err
}

// prepare is storage.prepare for all accesses. line has the group's turn in the line for memory.
func (g *group) prepare(ctx context.Context, reserve bool, line *request) error {
	for i := range g.list {
		m := &g.list[i]
		m.q.turn, m.x.ahead = line.turn, m.x.ahead || line.turn != nil
		err := m.prepare(ctx)
		if line.turn = m.q.turn; err != nil {
			return err
		}
	}
	g.lock()
	defer g.unlock()
	for i := range g.list {
		m := &g.list[i]
		if !reserve {
			m.s.commit(m.x)
		}
		m.x.grouped = true
	}
	return nil
}

// prepare is storage.prepare without commit: a group writes only when all of its accesses are ready. After an error, or if it panics, the
// access has ended.
func (m *member) prepare(ctx context.Context) error {
	m.s.mu.Lock()
	defer m.s.unlock()
	x := m.x
	m.x, m.q.reserve = nil, true
	err := m.s.prepare(ctx, x, &m.q)
	if err == nil && m.s.thrown == nil {
		m.x = x
	}
	return err
}

// abandon ends the accesses that have begun, if the group cannot begin. turn is the group's, or nil.
func (g *group) abandon(turn *resident.Turn) {
	for i := range g.list {
		if m := &g.list[i]; m.x != nil {
			m.s.mu.Lock()
			m.x.since = 0 // no use is reported to observers
			m.x.givesUp = turn
			m.s.end(m.x)
			m.x = nil
			m.s.mu.Unlock()
		}
	}
}

// arrange makes one request for each storage, in an order of storages that all groups use.
func (g *group) arrange() {
	g.sorted = g.sorted[:0]
	for i := range g.wants {
		g.sorted = append(g.sorted, i)
	}
	slices.SortFunc(g.sorted, func(a, b int) int {
		x, y := &g.wants[a], &g.wants[b]
		return cmp.Or(cmp.Compare(x.s.id, y.s.id), cmp.Compare(x.part.Lo, y.part.Lo))
	})
	g.list, g.parts = g.list[:0], g.parts[:0]
	var division *resident.Division
	if cover := g.wants[0].under; cover != nil {
		division = &cover.cover
	}
	for i := 0; i < len(g.sorted); {
		s := g.wants[g.sorted[i]].s
		n := 1
		for i+n < len(g.sorted) && g.wants[g.sorted[i+n]].s == s {
			n++
		}
		first := &g.wants[g.sorted[i]]
		m := member{s: s, q: request{op: cmp.Or(first.call, g.op), own: first.own, stream: g.stream, under: first.under,
			reserve: g.reserved, brief: g.wants[0].call != "", division: division}}
		if first.parts != nil { // the only want of the storage
			m.q.part, m.q.parts = first.part, first.parts
		} else if mode, ok := same(g.wants, g.sorted[i:i+n]); ok {
			m.q.part = g.wants[g.sorted[i]].part
			m.q.part.Mode = mode
		} else {
			m.q.parts = merged(g.wants, g.sorted[i:i+n])
			switch m.q.part = g.wants[g.sorted[i]].part; len(m.q.parts) {
			case 0: // all wants are empty
			case 1:
				m.q.part, m.q.parts = m.q.parts[0], nil
			default:
				m.q.part = hull(m.q.parts)
			}
		}
		for _, j := range g.sorted[i : i+n] {
			g.wants[j].in = int32(len(g.list))
		}
		g.list = append(g.list, m)
		i += n
	}
}

// same returns the mode of wants of one storage that all have the same range. ok is false if their ranges differ.
func same(wants []Want, which []int) (mode protocol.Action, ok bool) {
	first := &wants[which[0]].part
	reads, writes := first.Reads(), first.Writes()
	for _, i := range which[1:] {
		p := &wants[i].part
		if p.Lo != first.Lo || p.Hi != first.Hi {
			return mode, false
		}
		reads, writes = reads || p.Reads(), writes || p.Writes()
	}
	switch {
	case !writes:
		return protocol.Read, true
	case !reads:
		return protocol.Overwrite, true
	}
	return protocol.ReadWrite, true
}

// merged cuts overlapping wants of one storage into parts that do not overlap. The mode of a byte that one want reads and another writes is
// ReadWrite.
func merged(wants []Want, which []int) (parts []part) {
	type edge struct {
		at            uint64
		reads, writes int // more from here on
	}
	edges := make([]edge, 0, 2*len(which))
	for _, i := range which {
		p, e := wants[i].part, edge{}
		if p.Reads() {
			e.reads = 1
		}
		if p.Writes() {
			e.writes = 1
		}
		edges = append(edges, edge{p.Lo, e.reads, e.writes}, edge{p.Hi, -e.reads, -e.writes})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	reads, writes := 0, 0
	for i := 0; i+1 < len(edges); i++ {
		reads, writes = reads+edges[i].reads, writes+edges[i].writes
		p := part{Lo: edges[i].at, Hi: edges[i+1].at}
		switch {
		case p.Lo == p.Hi:
			continue
		case reads > 0 && writes > 0:
			p.Mode = protocol.ReadWrite
		case writes > 0:
			p.Mode = protocol.Overwrite
		case reads > 0:
			p.Mode = protocol.Read
		default:
			continue // a gap between the wants
		}
		parts = appendPart(parts, p)
	}
	return parts
}

// appendPart appends a part, or makes the last one longer by it.
func appendPart(parts []part, p part) []part {
	if last := len(parts) - 1; last >= 0 && parts[last].Hi == p.Lo && parts[last].Mode == p.Mode {
		parts[last].Hi = p.Hi
		return parts
	}
	return append(parts, p)
}

// hull returns the range from the first part to the last, with the mode of the parts, or ReadWrite if they differ.
func hull(parts []part) part {
	h := part{Lo: parts[0].Lo, Hi: parts[len(parts)-1].Hi, Mode: parts[0].Mode}
	for _, p := range parts {
		if p.Mode != h.Mode {
			h.Mode = protocol.ReadWrite
		}
	}
	return h
}

// discard returns the group for use by another call.
func (g *group) discard() {
	g.gen.Add(1)
	clear(g.wants)
	clear(g.list)
	for _, m := range g.marks {
		m.Release()
	}
	g.marks, g.of = g.marks[:0], order.Launches{}
	groups.Put(g)
}

// lock locks every storage of the group, in the order that all groups use.
func (g *group) lock() {
	for i := range g.list {
		g.list[i].s.mu.Lock()
	}
}

func (g *group) unlock() {
	for i := range g.list {
		g.list[i].s.mu.Unlock()
	}
}

// release ends all accesses. On a device one Work records the stream's work for all of them. If check is not nil, it says whether that
// work succeeded.
func (g *group) release(check func() error) (err error) {
	g.lock()
	if g.stream != nil && !g.reserved {
		for i := range g.list {
			if x := g.list[i].x; x.mem != nil {
				if e := x.stream.RecordUse(x.mem); err == nil {
					err = e
				}
			}
		}
		if bad := g.bad(); bad != nil {
			check = func() error { return bad }
		}
		if check != nil || len(g.marks) > 0 || !g.renew() {
			g.record(check)
		}
	}
	for i := range g.list {
		m := &g.list[i]
		if g.reserved {
			m.x.since = 0 // no use is reported to observers
		}
		m.s.end(m.x)
	}
	var thrown error
	for i := range g.list {
		if t := g.list[i].s.unlockFirst(); thrown == nil {
			thrown = t
		}
	}
	g.discard()
	raise(thrown)
	return err
}

// bad returns why bytes that the group reads have turned out bad while it had them, or nil.
func (g *group) bad() error {
	for i := range g.list {
		if err := g.list[i].x.bad; err != nil {
			return err
		}
	}
	return nil
}

// record adds a Work for the group's work to the Orders. check is as for [order.Checked].
func (g *group) record(check func() error) {
	w := order.Checked(g.stream, check)
	w.Launched(g.of)
	for _, m := range g.marks {
		w.AddSource(m)
	}
	g.marks = g.marks[:0]
	writes := g.writes()
	for i := range g.list {
		if m := &g.list[i]; writes {
			m.s.sources(m.x, w)
		}
	}
	for i := range g.list {
		g.list[i].s.recordAs(g.list[i].x, w)
	}
	w.Release()
}

// lease returns the lease of the i-th want.
func (g *group) lease(i int) Lease {
	w := &g.wants[i]
	x := g.list[w.in].x
	return Lease{x, x.gen, w.part.Lo, w.part.Hi}
}

// Commit makes the elements of a [ReserveAll]'s leases for writing stale elsewhere. Call it when the work has been enqueued on the
// stream. After Release it is an error of kind ErrClosed. For leases of AcquireAll, and when called again, it does nothing.
func (l Leases) Commit() error {
	if l.g != nil {
		l.g.mu.Lock()
		defer l.g.mu.Unlock()
		if l.g.gen.Load() == l.gen {
			if l.g.reserved {
				l.g.commit()
			}
			return nil
		}
	}
	return hal.Errorf("Commit", hal.ErrClosed, "the leases were released before")
}

func (g *group) commit() {
	g.lock()
	defer g.unlock()
	g.reserved = false
	for i := range g.list {
		g.list[i].s.commit(g.list[i].x)
	}
}

// Regions appends to list, for each want, the range of the device's memory that [Lease.Region] returns. It appends nothing after Release.
func (l Leases) Regions(list []hal.Region) []hal.Region {
	if l.g == nil {
		return list
	}
	l.g.mu.Lock()
	defer l.g.mu.Unlock()
	if l.g.gen.Load() != l.gen {
		return list
	}
	for i := range l.g.wants {
		w := &l.g.wants[i]
		m, all := &l.g.list[w.in], w.region()
		m.s.mu.Lock()
		list = append(list, m.x.replica.region(m.x.mem, all.Lo, all.Hi))
		m.s.mu.Unlock()
	}
	return list
}

// At returns the lease of the i-th want. It ends with the others, only by [Leases.Release]. If there is no i-th want, the lease is stale
// and its Region is the zero Region.
func (l Leases) At(i int) (one Lease) {
	l.live(func() {
		if 0 <= i && i < len(l.g.wants) {
			one = l.g.lease(i)
		}
	})
	return one
}

// live runs fn unless the leases are stale. They are not released while fn runs.
func (l Leases) live(fn func()) {
	if l.g == nil {
		return
	}
	l.g.mu.Lock()
	defer l.g.mu.Unlock()
	if l.g.gen.Load() == l.gen {
		fn()
	}
}

// Release ends all leases, as [Lease.Release] does for one. Releasing stale leases is an error of kind ErrClosed and changes nothing.
func (l Leases) Release() error { return l.release(nil) }

// ReleaseChecked is Release for work whose success the driver does not know, as [Lease.ReleaseChecked] is for one lease. If check returns
// an error, the elements of all leases for writing are lost; if none is for writing, check may not be called. If check is nil, or if
// leases of [ReserveAll] are without a [Leases.Commit], the error is of kind ErrInvalidArgument and the leases stay open.
func (l Leases) ReleaseChecked(check func() error) error {
	if check == nil {
		return hal.Errorf("Release", hal.ErrInvalidArgument, "nil function")
	}
	return l.release(guarded(check))
}

func (l Leases) release(check func() error) error {
	const op = "Release"
	if l.g == nil {
		return hal.Errorf(op, hal.ErrClosed, "no leases")
	}
	l.g.mu.Lock()
	defer l.g.mu.Unlock()
	switch {
	case l.g.gen.Load() != l.gen:
		return hal.Errorf(op, hal.ErrClosed, "the leases were released before")
	case check == nil:
	case l.g.reserved:
		return hal.Errorf(op, hal.ErrInvalidArgument, "the leases are not committed, so the elements are unchanged")
	}
	return l.g.release(check)
}

// writes reports whether any access of the group writes.
func (g *group) writes() bool {
	return slices.ContainsFunc(g.list, func(m member) bool { return m.x.Writes() })
}
