package part

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/layer"
	launches "github.com/go-halyard/halyard/internal/parts"
	"github.com/go-halyard/halyard/internal/protocol"
)

// ranks divides launches among ranks: it is what [launches.Ranks] describes. For each buffer every rank has the same map, which says at
// which ranks the bytes are current. All ranks see the same launches, so all maps change alike, and each rank knows which messages the
// others expect.
type ranks struct {
	launches.Ranks
	attach func(all *buffer.Buffer[byte], elem uint64) launches.Watcher
	turn   chan struct{}

	// The caller that has turn may use these.
	mail             // its boxes are of all ranks, and its last memory is the message that this rank has failed
	held   []*copies // of the launch or step under way
	one    crossing  // of a launch
	step   *step     // that runs, or nil
	plan   []protocol.Transfer
	now    uint64 // the history as the messages under way have it
	failed error

	mu      sync.Mutex
	history uint64 // a hash of all launches, and writes of the host, so far: ranks compare it
	buffers uint64
}

// copies is what a rank knows of one buffer: the places of its map are the ranks. It watches the buffer.
type copies struct {
	store
	r    *ranks
	id   uint64
	held bool         // the accesses are those of a launch, which are in the map already
	here bool         // what they read is current, although the map does not say so
	news atomic.Int64 // how often the map may have changed
}

// What a message says, in the second number of its head.
const (
	carries = iota // it has the elements of a launch
	failed         // the rank makes no more launches, because a call has failed
	parting        // the rank makes no more launches
)

// Enter implements launches.Exchanger, as Leave and Exchange do.
func (r *ranks) Enter(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return layer.Interrupted("launch", ctx)
	}
	if r.failed == nil {
		return nil
	}
	defer func() { <-r.turn }()
	return r.failed
}

func (r *ranks) Leave(err error) {
	if r.step != nil {
		r.step.end(err)
	}
	for _, c := range r.held {
		c.hold(false, false)
	}
	clear(r.held)
	r.held = r.held[:0]
	r.one.clear()
	r.fail(err)
	<-r.turn
}

// giveUp tells the other ranks that this one makes no more launches, if there was an error.
func (r *ranks) giveUp(err error) {
	if err != nil {
		r.turn <- struct{}{}
		r.Leave(err)
	}
}

// note adds something to the history, and returns the new history.
func (r *ranks) note(what ...uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = hash(r.history, what...)
	return r.history
}

func hash(of uint64, what ...uint64) uint64 {
	for _, n := range what {
		of = (of ^ n) * 0x9e3779b97f4a7c15
		of ^= of >> 29
	}
	return of
}

// watch makes the map of a buffer that takes part for the first time. All ranks have filled it alike.
func (r *ranks) watch(all *buffer.Buffer[byte], elem uint64) launches.Watcher {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buffers++
	c := &copies{r: r, id: r.buffers}
	c.all, c.elem = all, int(elem)
	c.m.Init(all.Size())
	c.everywhere(0, all.Size())
	return c
}

// everywhere notes that all ranks have written bytes alike.
func (c *copies) everywhere(lo, hi uint64) {
	if lo == hi {
		return
	}
	c.news.Add(1)
	_ = c.m.Commit(protocol.Overwrite, 0, lo, hi)
	for p := 1; p < c.r.Size; p++ {
		_ = c.m.Apply(protocol.Transfer{Move: protocol.Move{From: 0, To: protocol.Place(p)}, Lo: lo, Hi: hi})
	}
}

func (c *copies) hold(held, here bool) {
	c.mu.Lock()
	c.held, c.here = held, here
	c.mu.Unlock()
}

// Reads implements launches.Watcher. It refuses to read what only other ranks have.
func (c *copies) Reads(lo, hi uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.here || c.m.ValidIn(lo, hi, protocol.Place(c.r.Rank)) {
		return nil
	}
	e := &staleError{Rank: c.r.Rank, call: "Gather or Allgather"}
	c.m.Runs(lo, hi, func(lo, hi uint64, valid protocol.Set) bool {
		if !valid.Has(protocol.Place(c.r.Rank)) {
			e.Local = append(e.Local, buffer.Range{Lo: int(lo) / c.elem, Hi: (int(hi) + c.elem - 1) / c.elem})
		}
		return true
	})
	e.Local = union(e.Local)
	e.Global = e.Local
	return e
}

// Writes implements launches.Watcher. Outside of launches all ranks make the same writes, so what this rank writes is current on all.
func (c *copies) Writes(lo, hi uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held {
		c.everywhere(lo, hi)
		c.r.note(c.id, lo, hi)
	}
}

func (r *ranks) Exchange(ctx context.Context, what []uint64, uses []launches.Use) error {
	return r.exchange(ctx, "launch", what, uses)
}

func (r *ranks) exchange(ctx context.Context, op string, what []uint64, uses []launches.Use) error {
	if _, err := r.one.add(r, op, launches.Launch{What: what, Uses: uses}); err != nil {
		return err
	}
	return r.cross(ctx, op, &r.one, false)
}

// cross makes an exchange. In the maps, the parts have then written what they will write. If it repeats messages, the maps do not change.
func (r *ranks) cross(ctx context.Context, op string, x *crossing, repeat bool) error {
	r.now = r.note(x.what)
	r.clear()
	for i := range x.of {
		u := &x.of[i]
		u.hold(true, repeat)
		r.held = append(r.held, u.copies)
		if !repeat {
			u.plan()
		}
	}
	for dir := 0; repeat && dir < len(x.moves); dir++ {
		for _, v := range x.moves[dir] {
			r.carry(dir, v.box, v.of, v.lo, v.hi)
		}
	}
	if err := r.swap(ctx, op, carries); err != nil {
		for _, v := range r.moves[in] { // they may not have arrived
			v.of.mu.Lock()
			v.of.m.Invalidate(protocol.Place(r.Rank), uint64(v.lo), uint64(v.hi))
			v.of.mu.Unlock()
		}
		return err
	}
	for i := 0; i < len(x.of) && !repeat; i++ {
		x.of[i].written()
	}
	return nil
}

// plan finds what has to be sent to whom, so that each rank can read what its part reads. All of it is sent by ranks that have it already.
func (u *used) plan() {
	r := u.r
	u.mu.Lock()
	defer u.mu.Unlock()
	u.news.Add(1)
	r.plan = r.plan[:0]
	for p := range u.by {
		for _, s := range u.by[p].reads {
			r.plan, _ = u.m.Plan(protocol.Read, protocol.Place(p), uint64(s.Lo), uint64(s.Hi), distance, r.plan)
		}
	}
	for _, t := range r.plan {
		_ = u.m.Apply(t)
		switch r.Rank {
		case int(t.From):
			r.carry(out, int(t.To), &u.store, int(t.Lo), int(t.Hi))
		case int(t.To):
			r.carry(in, int(t.From), &u.store, int(t.Lo), int(t.Hi))
		}
	}
}

// written notes what the parts write.
func (u *used) written() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for p := range u.by {
		for _, s := range u.by[p].writes {
			_ = u.m.Commit(protocol.Overwrite, protocol.Place(p), uint64(s.Lo), uint64(s.Hi))
		}
	}
}

// distance makes ranks receive from the nearest rank.
func distance(from, to protocol.Place) int { return max(int(from)-int(to), int(to)-int(from)) }

// swap sends and receives the messages that have elements. When the rank parts (see part), there is a
// message to each rank. All messages that arrive must have the same numbers in their heads.
func (r *ranks) swap(ctx context.Context, op string, says int) error {
	for i := range r.boxes {
		for dir := range r.boxes[i].letters {
			l := &r.boxes[i].letters[dir]
			if l.size = 0; l.elements > 0 || says == parting && i != r.Rank {
				l.size = headSize + l.elements
			}
		}
	}
	err := r.post(ctx, op, func(_ int, to []byte) []byte { return putHead(to, r.now, says, 0) })
	if err == nil {
		err = r.wait(ctx)
	}
	if err != nil {
		if e := (*comm.Error)(nil); errors.As(err, &e) && e.Kind == comm.ErrTruncated {
			return mismatch(op, e.Peer, otherCalls)
		}
		return err
	}
	return r.open(ctx, op, coherence.Overwrite, func(i int, from []byte) ([]byte, error) {
		about, said, _, elements := head(from)
		switch {
		case said == failed:
			return nil, mismatch(op, i, "a call failed on that rank")
		case said == parting && says != parting:
			return nil, mismatch(op, i, "that rank has closed its queue")
		case said != says || says == carries && about != r.now:
			return nil, mismatch(op, i, otherCalls)
		}
		return elements, nil
	}, take)
}

// part tells the other ranks that this one makes no more launches, and waits until they have told the same.
func (r *ranks) part(ctx context.Context) error {
	if err := r.Enter(ctx); err != nil {
		return err
	}
	r.clear()
	err := r.swap(ctx, "Close", parting)
	r.Leave(err)
	return err
}

// prepare makes the boxes and the notice.
func (r *ranks) prepare(ctx context.Context) (err error) {
	for p := range r.Size {
		r.boxes = append(r.boxes, box{peer: p})
	}
	if r.memory[notice], err = comm.NewBuffer[byte](r.c, headSize); err != nil {
		return err
	}
	return r.memory[notice].Overwrite(ctx, func(to []byte) error { putHead(to, 0, failed, 0); return nil })
}

// fail notes the first error, gives up what is under way, and tells the other ranks.
func (r *ranks) fail(err error) {
	if err == nil || r.failed != nil || r.c == nil {
		return
	}
	r.failed = err
	over, cancel := context.WithCancel(context.Background())
	var told []*comm.Request
	for p := range r.Size {
		if p == r.Rank {
			continue
		}
		if q, err := comm.Isend(over, r.c, r.memory[notice], p, 0); err == nil {
			told = append(told, q)
		}
	}
	cancel()
	for _, q := range told {
		_, _ = q.Wait(over)
	}
	r.abandon()
}

// close frees the messages and the communicator.
func (r *ranks) close() error {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	if r.c == nil {
		return nil
	}
	err := r.mail.close()
	r.c, r.failed = nil, driver.Errorf("launch", driver.ErrClosed, "the queue was closed")
	return err
}
