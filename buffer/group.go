package buffer

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/resident"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

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

// cover admits accesses as acquireAll does, and ends there: they are of the host, at no place, and never committed.
func cover(ctx context.Context, wants []Want) (Leases, error) {
	op, err := checkWants("cover", wants)
	if err != nil {
		return Leases{}, err
	}
	g := groups.Get().(*group)
	g.op, g.stream, g.reserved = op, nil, true
	g.wants = append(g.wants[:0], wants...)
	g.arrange()
	ready := false
	defer func() {
		if !ready { // also if an observer panics
			g.abandon(nil)
			g.discard()
		}
	}()
	for i := range g.list {
		if err := g.list[i].cover(ctx); err != nil {
			return Leases{}, err
		}
	}
	ready = true
	return Leases{g, g.gen.Load()}, nil
}

func (m *member) cover(ctx context.Context) (err error) {
	m.s.mu.Lock()
	defer m.s.unlock()
	if m.x, err = m.s.admit(ctx, &m.q); err == nil {
		m.x.replica, m.x.place, m.x.grouped = nil, protocol.NoPlace, true
	}
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

// beginAtOnce shortens acquireAll: it begins all accesses at once if that is possible for each of them, else none. It reports whether it
// did.
func (g *group) beginAtOnce() bool {
	if g.stream == nil {
		return false
	}
	var asked order.Asked
	g.lock()
	defer g.unlock()
	for i := range g.list {
		if m := &g.list[i]; !m.s.canBeginAtOnce(&m.q, &asked) {
			return false
		}
	}
	for i := range g.list {
		m := &g.list[i]
		m.x = m.s.beginAgain(&m.q)
		m.x.grouped = true
	}
	return true
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

// renew shortens group.record: it extends the Work of an earlier group, on the same stream and the same bytes, to the work of this group,
// if nothing else refers to that Work. It reports whether it did.
func (g *group) renew() bool {
	if !shortcuts {
		return false
	}
	defer g.renewal.Clear()
	g.renewal.Of = g.of
	for i := range g.list {
		if !g.list[i].s.renewal(g.list[i].x, &g.renewal) {
			return false
		}
	}
	return g.renewal.Do()
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
