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
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/protocol"
)

// mail is the messages of one rank in one exchange: at most one to each of some ranks, and at most one from each. A [Buffer] and a [Queue]
// find out in their own ways which elements go where. Then both exchange them by these calls:
//
//	clear   the messages have no elements yet
//	carry   a message has these elements: they are sent, or stored when it has come (the caller sets the size of the message)
//	post    begins to receive, makes the messages, and begins to send them
//	wait    waits until all have been sent and received
//	open    reads the heads of the messages that came, and stores their elements
//
// All outgoing messages lie in one piece of the engine's memory, and all incoming ones in another. So a buffer is accessed once for all
// messages. abandon gives up what is under way after a failure.
type mail struct {
	c      *comm.Comm
	boxes  []box
	memory [3]*buffer.Buffer[byte] // out, in, and that of a notice
	moves  [2][]move               // out and in: the moves of one buffer are neighbours
	ranges []buffer.Range
	began  bool // something was sent or received, or may have been
	moved  Moved
}

// Directions of messages, and the notice of ranks.fail, which is sent while others may be under way.
const (
	out = iota
	in
	notice
)

// box is the message to a rank and the one from it.
type box struct {
	peer    int
	letters [2]letter
	rest    []byte // of the message that is written or read
}

// letter is a message. If size is 0, there is none.
type letter struct {
	at, size int // in the memory
	elements int // bytes of elements
	part     *buffer.Buffer[byte]
	under    bool
	comm.Request
	came int // bytes that were received
}

// move is bytes of a buffer that are in a message.
type move struct {
	box    int
	of     *store
	lo, hi int
}

// store is a buffer whose elements move between ranks, and what this rank knows about who has the newest.
type store struct {
	all  *buffer.Buffer[byte]
	elem int // the size of an element

	mu sync.Mutex
	m  protocol.Map
}

// headSize is the length of the head with which each message begins: a number that both ranks have to agree about, and two more.
const headSize = 16

// putHead writes a head, and returns what follows it.
func putHead(to []byte, about uint64, first, second int) []byte {
	binary.NativeEndian.PutUint64(to, about)
	binary.NativeEndian.PutUint32(to[8:], uint32(first))
	binary.NativeEndian.PutUint32(to[12:], uint32(second))
	return to[headSize:]
}

// head reads a head. For a message that is too short it returns numbers that no rank writes.
func head(from []byte) (about uint64, first, second int, rest []byte) {
	if len(from) < headSize {
		return 0, math.MaxInt32, math.MaxInt32, nil
	}
	u := binary.NativeEndian
	return u.Uint64(from), int(u.Uint32(from[8:])), int(u.Uint32(from[12:])), from[headSize:]
}

func (m *mail) clear() {
	for dir := range m.moves {
		m.moves[dir] = m.moves[dir][:0]
		for i := range m.boxes {
			m.boxes[i].letters[dir].elements = 0
		}
	}
}

// carry notes that bytes of a buffer are in a message.
func (m *mail) carry(dir, box int, of *store, lo, hi int) {
	list := m.moves[dir]
	if k := len(list) - 1; k >= 0 && list[k].of == of && list[k].box == box && list[k].hi == lo {
		list[k].hi = hi
	} else {
		m.moves[dir] = append(list, move{box, of, lo, hi})
	}
	m.boxes[box].letters[dir].elements += hi - lo
}

// room makes memory for the messages of a direction.
func (m *mail) room(op string, dir int) (err error) {
	const align = headSize
	size := 0
	for i := range m.boxes {
		l := &m.boxes[i].letters[dir]
		if l.size > math.MaxInt32 || size > math.MaxInt-align-l.size {
			return driver.Errorf(op, driver.ErrUnsupported, "a message of %d bytes; there may be up to %d", l.size, math.MaxInt32)
		}
		if l.at != size {
			l.at, l.part = size, nil
		}
		size = (size + l.size + align - 1) / align * align
	}
	if old := m.memory[dir]; old == nil && size > 0 || old != nil && size > old.Len() {
		if old != nil {
			err = old.Close()
		}
		if err == nil {
			m.memory[dir], err = comm.NewBuffer[byte](m.c, size)
		}
		for i := range m.boxes {
			m.boxes[i].letters[dir].part = nil
		}
	}
	for i := range m.boxes {
		if l := &m.boxes[i].letters[dir]; err == nil && l.size > 0 && (l.part == nil || l.part.Len() != l.size) {
			l.part, err = m.memory[dir].Slice(l.at, l.at+l.size)
		}
	}
	return err
}

// post begins to receive and to send. write writes the head of the message to a box, and returns where its elements go.
func (m *mail) post(ctx context.Context, op string, write func(i int, to []byte) []byte) error {
	if err := errors.Join(m.room(op, out), m.room(op, in)); err != nil {
		return err
	}
	if err := m.start(ctx, in); err != nil || m.memory[out] == nil {
		return err
	}
	err := m.memory[out].Overwrite(ctx, func(all []byte) error {
		for i := range m.boxes {
			if l := &m.boxes[i].letters[out]; l.size > 0 {
				m.boxes[i].rest = write(i, all[l.at:l.at+l.size])
			}
		}
		return m.access(ctx, coherence.Read, m.moves[out], func(to, of []byte) { copy(to, of) })
	})
	if err != nil {
		return err
	}
	return m.start(ctx, out)
}

// start begins to send or to receive.
func (m *mail) start(ctx context.Context, dir int) (err error) {
	for i := range m.boxes {
		b := &m.boxes[i]
		l := &b.letters[dir]
		if l.size == 0 {
			continue
		}
		var r *comm.Request
		if dir == in {
			r, err = comm.Irecv(ctx, m.c, l.part, b.peer, 0)
		} else {
			r, err = comm.Isend(ctx, m.c, l.part, b.peer, 0)
		}
		if err != nil {
			return err
		}
		l.Request, l.under, m.began = *r, true, true
		if dir == out && b.peer != m.c.Rank() {
			m.moved.Messages++
			m.moved.Bytes += uint64(l.elements)
		}
	}
	return nil
}

// access calls fn with each move's bytes in its message and in its buffer.
func (m *mail) access(ctx context.Context, mode coherence.Mode, list []move, fn func(message, of []byte)) error {
	for len(list) > 0 {
		of, n := list[0].of, 0
		m.ranges = m.ranges[:0]
		for ; n < len(list) && list[n].of == of; n++ {
			m.ranges = append(m.ranges, buffer.Range{Lo: list[n].lo, Hi: list[n].hi})
		}
		m.ranges = union(m.ranges)
		now, base := list[:n], m.ranges[0].Lo
		err := of.all.AccessRanges(ctx, mode, m.ranges, func(data []byte) error {
			for _, v := range now {
				b, n := &m.boxes[v.box], v.hi-v.lo
				fn(b.rest[:n], data[v.lo-base:v.hi-base])
				b.rest = b.rest[n:]
			}
			return nil
		})
		if err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// wait waits for all messages.
func (m *mail) wait(ctx context.Context) error {
	for dir := in; dir >= out; dir-- {
		for i := range m.boxes {
			l := &m.boxes[i].letters[dir]
			if !l.under {
				continue
			}
			l.under = false
			status, err := l.Wait(ctx)
			if err != nil {
				return err
			}
			l.came = status.Count
		}
	}
	return nil
}

// open reads the messages that came. The function read reads the head of one message, and returns its elements.
func (m *mail) open(ctx context.Context, op string, mode coherence.Mode, read func(i int, from []byte) ([]byte, error),
	store func(message, of []byte)) error {
	if m.memory[in] == nil {
		return nil
	}
	return m.memory[in].View(ctx, func(all []byte) (err error) {
		for i := range m.boxes {
			b := &m.boxes[i]
			l := &b.letters[in]
			if l.size == 0 {
				continue
			}
			if b.rest, err = read(i, all[l.at:l.at+l.came]); err != nil {
				return err
			}
			if len(b.rest) != l.elements {
				return mismatch(op, b.peer, otherCalls)
			}
		}
		return m.access(ctx, mode, m.moves[in], store)
	})
}

// abandon gives up the messages that are under way.
func (m *mail) abandon() {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for m.wait(over) != nil { // each call that returns an error ends one more message
	}
}

// close frees the messages and the communicator.
func (m *mail) close() (err error) {
	for _, b := range m.memory {
		if b != nil {
			err = errors.Join(err, b.Close())
		}
	}
	if m.c.Err() != nil { // the engine may still use the memory, and Close fails
		err = nil
	}
	return errors.Join(err, m.c.Close())
}

const otherCalls = "that rank has made another call, or has written to other elements; " +
	"all ranks make the same calls in the same order"

func mismatch(op string, peer int, detail string) error {
	e := driver.Errorf(op, comm.ErrMismatch, "%s", detail)
	e.Peer = peer
	return e
}

// union sorts ranges and merges those that touch.
func union(list []buffer.Range) []buffer.Range {
	if !slices.IsSortedFunc(list, byLo) {
		slices.SortFunc(list, byLo)
	}
	out := list[:0]
	for _, r := range list {
		if k := len(out) - 1; k >= 0 && r.Lo <= out[k].Hi {
			out[k].Hi = max(out[k].Hi, r.Hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}

func byLo(a, b buffer.Range) int { return a.Lo - b.Lo }
