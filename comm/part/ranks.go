package part

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/layer"
	launches "github.com/go-halyard/halyard/internal/parts"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/watch"
)

// ranks divides launches among ranks: it is what [launches.Ranks] describes. For each buffer every rank has the same map, which says at
// which ranks the bytes are current. All ranks see the same launches, so all maps change alike, and each rank knows which messages the
// others expect.
type ranks struct {
	c          *comm.Comm
	rank, size int
	bounds     []float64       // shares added up, for each rank and the end
	on         launches.Target // of this rank's queue
	attach     func(all *buffer.Buffer[byte], elem uint64) watch.Watcher
	turn       chan struct{}

	// These belong to whom turn belongs to.
	mail   []mail                            // by rank
	notice [parting + 1]*buffer.Buffer[byte] // messages that only say something, by what they say
	bytes  []traffic                         // of the messages under way, by rank
	moves  []move
	held   []held // of each use of the launch under way
	reads  []buffer.Range
	plan   []protocol.Transfer
	moved  Moved
	now    uint64 // the history as the messages under way have it
	failed error

	mu      sync.Mutex
	history uint64 // stands for all launches, and writes of the host, so far: ranks compare it
	buffers uint64
}

// copies is what a rank knows of one buffer: its map has the ranks as places. It watches the buffer.
type copies struct {
	r    *ranks
	id   uint64
	all  *buffer.Buffer[byte]
	elem uint64

	mu   sync.Mutex
	m    protocol.Map
	held bool // the accesses are those of a launch, which are in the map already
}

// traffic is how many bytes of elements two messages have: the one from a rank and the one to it.
type traffic struct{ in, out int }

// held is the buffer of a use, and where the use's elements lie in it, in bytes.
type held struct {
	*copies
	lo, hi, size uint64 // size is that of an element
}

// move is bytes that this rank sends or receives.
type move struct {
	of *copies
	protocol.Transfer
}

// letterHead is the length of a message's head: the history, and what the message says.
const letterHead = 16

// What a message says.
const (
	carries = iota // it has the elements of a launch
	failed         // the rank makes no more launches, because a call has failed
	parting        // the rank makes no more launches
)

const otherCalls = "that rank has launched something else, or has written to other elements; " +
	"all ranks make the same calls in the same order"

// tagLaunch is the tag of messages of launches.
const tagLaunch = 0

// Ranks implements launches.Ranks, as the methods that follow.
func (r *ranks) Ranks() (rank, size int) { return r.rank, r.size }

func (r *ranks) On() launches.Target { return r.on }

func (r *ranks) Device() *hal.Device { return r.on.Device() }

func (r *ranks) Begins(rank, n int) int {
	// the conversion forbids to fuse, which would differ between machines
	return int(float64(r.bounds[rank]/r.bounds[r.size]*float64(n)) + 0.5)
}

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
	for _, h := range r.held {
		h.hold(false)
	}
	clear(r.held)
	r.held = r.held[:0]
	r.fail(err)
	<-r.turn
}

// giveUp tells the other ranks that this one makes no more launches, if there was an error.
func (r *ranks) giveUp(err error) {
	if err == nil {
		return
	}
	r.turn <- struct{}{}
	r.fail(err)
	<-r.turn
}

// note makes something part of the history, and returns that.
func (r *ranks) note(what ...uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range what {
		r.history = (r.history ^ n) * 0x9e3779b97f4a7c15
		r.history ^= r.history >> 29
	}
	return r.history
}

// watch makes the map of a buffer that takes part for the first time. All ranks have filled it alike.
func (r *ranks) watch(all *buffer.Buffer[byte], elem uint64) watch.Watcher {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buffers++
	c := &copies{r: r, id: r.buffers, all: all, elem: elem}
	c.m.Init(all.Size())
	c.everywhere(0, all.Size())
	return c
}

// everywhere notes that all ranks have written bytes alike.
func (c *copies) everywhere(lo, hi uint64) {
	if lo == hi {
		return
	}
	_ = c.m.Commit(protocol.Overwrite, 0, lo, hi)
	for p := 1; p < c.r.size; p++ {
		_ = c.m.Apply(protocol.Transfer{Move: protocol.Move{From: 0, To: protocol.Place(p)}, Lo: lo, Hi: hi})
	}
}

func (c *copies) hold(held bool) {
	c.mu.Lock()
	c.held = held
	c.mu.Unlock()
}

// Reads implements watch.Watcher. It refuses to read what only other ranks have.
func (c *copies) Reads(lo, hi uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m.ValidIn(lo, hi, protocol.Place(c.r.rank)) {
		return nil
	}
	e := &staleError{Rank: c.r.rank, call: "Gather or Allgather"}
	c.m.Runs(lo, hi, func(lo, hi uint64, valid protocol.Set) bool {
		if !valid.Has(protocol.Place(c.r.rank)) {
			e.Local = append(e.Local, buffer.Range{Lo: int(lo / c.elem), Hi: int((hi + c.elem - 1) / c.elem)})
		}
		return true
	})
	e.Local = union(e.Local)
	e.Global = e.Local
	return e
}

// Writes implements watch.Watcher. What this rank writes outside of launches all ranks write.
func (c *copies) Writes(lo, hi uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held {
		c.everywhere(lo, hi)
		c.r.note(c.id, lo, hi)
	}
}

// Exchange implements launches.Ranks.
func (r *ranks) Exchange(ctx context.Context, what uint64, uses []launches.Use) error {
	return r.exchange(ctx, "launch", what, uses)
}

func (r *ranks) exchange(ctx context.Context, op string, what uint64, uses []launches.Use) error {
	r.now = r.note(what)
	r.moves, r.held = r.moves[:0], r.held[:0]
	clear(r.bytes)
	for i := range uses {
		by, lo, hi, size := launches.Watched(uses[i].Want, r.attach)
		c, _ := by.(*copies)
		if c == nil || c.r != r {
			return driver.Errorf(op, comm.ErrInvalidArgument, "argument %d belongs to a part.Buffer or was divided by another queue", i)
		}
		r.now = r.note(c.id, lo, hi)
		c.hold(true)
		r.held = append(r.held, held{c, lo, hi, size})
	}
	for i, h := range r.held {
		if i == slices.IndexFunc(r.held, func(g held) bool { return g.copies == h.copies }) {
			h.plan(uses)
		}
	}
	err := r.send(ctx, op)
	for _, m := range r.moves {
		if err != nil && int(m.To) == r.rank {
			m.of.mu.Lock()
			m.of.m.Invalidate(m.To, m.Lo, m.Hi) // it may not have arrived
			m.of.mu.Unlock()
		}
	}
	if err != nil {
		return err
	}
	for i, h := range r.held {
		h.written(&uses[i])
	}
	return nil
}

// plan finds what has to be sent to whom, so that each rank can read what its part reads. All of it is sent by ranks that have it already.
func (c *copies) plan(uses []launches.Use) {
	r := c.r
	c.mu.Lock()
	defer c.mu.Unlock()
	r.plan = r.plan[:0]
	for p := range r.size {
		r.reads = r.reads[:0]
		for i := range uses {
			if r.held[i].copies == c {
				r.reads = r.held[i].reads(r.reads, &uses[i].By[p])
			}
		}
		r.reads = union(r.reads)
		for _, s := range r.reads {
			r.plan, _ = c.m.Plan(protocol.Read, protocol.Place(p), uint64(s.Lo), uint64(s.Hi), distance, r.plan)
		}
	}
	for _, t := range r.plan {
		_ = c.m.Apply(t)
		switch r.rank {
		case int(t.From):
			r.bytes[t.To].out += int(t.Len())
		case int(t.To):
			r.bytes[t.From].in += int(t.Len())
		default:
			continue
		}
		r.moves = append(r.moves, move{c, t})
	}
}

// reads appends what a part has to have before it runs, in bytes: what it reads, and what it may leave as it is.
func (h *held) reads(list []buffer.Range, t *launches.Touch) []buffer.Range {
	spans := [2][2]int{t.Read, t.Write}
	if t.Whole {
		spans[1] = [2]int{}
	}
	for _, s := range spans {
		if lo, hi := h.bytes(s); lo < hi {
			list = append(list, buffer.Range{Lo: int(lo), Hi: int(hi)})
		}
	}
	return list
}

// bytes returns where elements of the use lie in the buffer.
func (h *held) bytes(span [2]int) (lo, hi uint64) {
	n := int((h.hi - h.lo) / h.size)
	return h.lo + uint64(min(span[0], n))*h.size, h.lo + uint64(min(span[1], n))*h.size
}

// distance makes ranks receive from the nearest rank.
func distance(from, to protocol.Place) int { return max(int(from)-int(to), int(to)-int(from)) }

// written notes what the parts of a launch write.
func (h *held) written(u *launches.Use) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range u.By {
		if lo, hi := h.bytes(u.By[p].Write); lo < hi {
			_ = h.m.Commit(protocol.Overwrite, protocol.Place(p), lo, hi)
		}
	}
}

// send sends and receives what was planned: one message to and from each rank with which elements move.
func (r *ranks) send(ctx context.Context, op string) error {
	for p := range r.bytes {
		m, n := &r.mail[p], r.bytes[p]
		if err := m.room(r.c, n.in, n.out); err != nil {
			return err
		}
		if n.in > 0 {
			if err := r.listen(ctx, p); err != nil {
				return err
			}
		}
	}
	for p := range r.bytes {
		if n := r.bytes[p].out; n > 0 {
			if err := r.post(ctx, &r.mail[p], p, n); err != nil {
				return err
			}
			r.moved.Messages++
			r.moved.Bytes += uint64(n)
		}
	}
	return r.wait(ctx, op, carries)
}

// listen begins to receive a message from a rank.
func (r *ranks) listen(ctx context.Context, from int) error {
	m := &r.mail[from]
	q, err := comm.Irecv(ctx, r.c, m.in, from, tagLaunch)
	if err == nil {
		m.receive = posted{*q, true}
	}
	return err
}

// wait waits for the messages that are under way. All that arrive have to say the same.
func (r *ranks) wait(ctx context.Context, op string, says byte) error {
	for p := range r.mail {
		m := &r.mail[p]
		if !m.receive.under {
			continue
		}
		status, err := m.receive.wait(ctx)
		if errors.Is(err, comm.ErrTruncated) {
			return mismatch(op, p, otherCalls)
		}
		if err == nil {
			err = m.in.View(ctx, func(from []byte) error { return r.take(ctx, op, p, says, from[:status.Count]) })
		}
		if err != nil {
			return err
		}
	}
	for p := range r.mail {
		if _, err := r.mail[p].send.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// part tells the other ranks that this one makes no more launches, and waits until they have told the same.
func (r *ranks) part(ctx context.Context) error {
	if err := r.Enter(ctx); err != nil {
		return err
	}
	var err error
	for p := range r.mail {
		if p == r.rank || err != nil {
			continue
		}
		m := &r.mail[p]
		if err = m.room(r.c, 1, 0); err == nil {
			err = r.listen(ctx, p)
		}
		if err == nil {
			var q *comm.Request
			if q, err = comm.Isend(ctx, r.c, r.notice[parting], p, tagLaunch); err == nil {
				m.send = posted{*q, true}
			}
		}
	}
	if err == nil {
		err = r.wait(ctx, "Close", parting)
	}
	r.Leave(err)
	return err
}

// prepare makes the notices.
func (r *ranks) prepare(ctx context.Context) (err error) {
	for says := byte(failed); says <= parting && err == nil; says++ {
		if r.notice[says], err = comm.NewBuffer[byte](r.c, letterHead); err == nil {
			err = r.notice[says].Set(ctx, 8, says)
		}
	}
	return err
}

// room makes memory for messages with so many bytes of elements.
func (m *mail) room(c *comm.Comm, in, out int) (err error) {
	for _, box := range []struct {
		b **buffer.Buffer[byte]
		n int
	}{{&m.in, in}, {&m.out, out}} {
		if box.n > math.MaxInt32-letterHead {
			const most = math.MaxInt32 - letterHead
			return driver.Errorf("launch", comm.ErrUnsupported, "a message of %d bytes; there may be up to %d", box.n, most)
		}
		if box.n == 0 || *box.b != nil && (*box.b).Len() >= letterHead+box.n {
			continue
		}
		if *box.b != nil {
			err = (*box.b).Close()
		}
		m.part = nil
		if err == nil {
			*box.b, err = comm.NewBuffer[byte](c, letterHead+box.n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// post makes the message to a rank and begins to send it.
func (r *ranks) post(ctx context.Context, m *mail, to, n int) (err error) {
	if n += letterHead; m.part == nil || m.part.Len() != n {
		if m.part, err = m.out.Slice(0, n); err != nil {
			return err
		}
	}
	err = m.part.Overwrite(ctx, func(data []byte) error {
		binary.NativeEndian.PutUint64(data, r.now)
		clear(data[8:letterHead])
		data = data[letterHead:]
		for _, v := range r.moves {
			if int(v.To) != to || int(v.From) != r.rank {
				continue
			}
			err := v.of.all.AccessRanges(ctx, coherence.Read, []buffer.Range{{Lo: int(v.Lo), Hi: int(v.Hi)}}, func(from []byte) error {
				data = data[copy(data, from):]
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	q, err := comm.Isend(ctx, r.c, m.part, to, tagLaunch)
	if err == nil {
		m.send = posted{*q, true}
	}
	return err
}

// take takes the elements from a message.
func (r *ranks) take(ctx context.Context, op string, from int, says byte, data []byte) error {
	switch {
	case len(data) < letterHead:
		return mismatch(op, from, "a message is too short")
	case data[8] == failed:
		return mismatch(op, from, "a call failed on that rank")
	case data[8] == parting && says == parting:
		return nil
	case data[8] == parting:
		return mismatch(op, from, "that rank has closed its queue")
	case says == parting:
		return mismatch(op, from, otherCalls)
	case binary.NativeEndian.Uint64(data) != r.now || len(data) != letterHead+r.bytes[from].in:
		return mismatch(op, from, otherCalls)
	}
	data = data[letterHead:]
	for _, v := range r.moves {
		if int(v.From) != from {
			continue
		}
		err := v.of.all.AccessRanges(ctx, coherence.Overwrite, []buffer.Range{{Lo: int(v.Lo), Hi: int(v.Hi)}}, func(to []byte) error {
			data = data[copy(to, data):]
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fail notes the first error, gives up what is under way, and tells the other ranks.
func (r *ranks) fail(err error) {
	if err == nil || r.failed != nil || r.c == nil {
		return
	}
	r.failed = err
	over, cancel := context.WithCancel(context.Background())
	var told []*comm.Request
	for p := range r.size {
		if p == r.rank {
			continue
		}
		if q, err := comm.Isend(over, r.c, r.notice[failed], p, tagLaunch); err == nil {
			told = append(told, q)
		}
	}
	cancel()
	for _, q := range told {
		_, _ = q.Wait(over)
	}
	for i := range r.mail {
		_, _ = r.mail[i].receive.wait(over)
		_, _ = r.mail[i].send.wait(over)
	}
}

// close frees the messages and the communicator.
func (r *ranks) close() error {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	if r.c == nil {
		return nil
	}
	var errs []error
	for i := range r.mail {
		errs = append(errs, r.mail[i].close())
	}
	for _, b := range r.notice[failed:] {
		if b != nil {
			errs = append(errs, b.Close())
		}
	}
	if r.c.Err() != nil { // the engine may still use a message, and closing it fails
		errs = nil
	}
	c := r.c
	r.c, r.failed = nil, driver.Errorf("launch", comm.ErrClosed, "the queue was closed")
	return errors.Join(append(errs, c.Close())...)
}
