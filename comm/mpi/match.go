package mpi

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// inbox finds the messages that have come to a communicator.
//
// Open MPI copies a long message to its receiver in one piece, and writes all of it even if the memory of the receive is shorter. So there
// the engine does not give MPI the memory of a receive before it knows the message: MPI_Improbe takes whatever message has come, with its
// length, the engine chooses the receive for it by MPI's rules, and MPI_Imrecv receives it. A message that is too long is received into
// other memory, and dropped. With other libraries only Iprobe uses the inbox.
type inbox struct {
	e       *engine
	matches bool

	mu      sync.Mutex
	slot    *slot      // nil after close
	posted  []*request // receives without a message, oldest first
	arrived []arrival  // messages without a receive, oldest first
}

// inboxes has the inboxes of the communicators whose receives the engine matches.
type inboxes struct {
	mu      sync.Mutex
	list    []*inbox
	waiting atomic.Int64 // receives without a message
}

// progress finds messages for all receives. MPI goes on with each operation in each call, and so must the engine: the program may wait for
// a send whose receiver waits for this rank.
func (l *inboxes) progress() {
	if l.waiting.Load() == 0 || !l.mu.TryLock() { // another goroutine does it
		return
	}
	defer l.mu.Unlock()
	for _, in := range l.list {
		if !in.mu.TryLock() {
			continue
		}
		for len(in.posted) > 0 && in.step(1) {
		}
		in.mu.Unlock()
	}
}

func (l *inboxes) add(in *inbox) {
	l.mu.Lock()
	l.list = append(l.list, in)
	l.mu.Unlock()
}

func (l *inboxes) remove(in *inbox) {
	l.mu.Lock()
	if i := slices.Index(l.list, in); i >= 0 {
		l.list = slices.Delete(l.list, i, i+1)
	}
	l.mu.Unlock()
}

// arrival is a message that MPI_Improbe has found.
type arrival struct {
	handle      uint64
	source, tag int
	bytes       uint64
}

func (a *arrival) status() driver.Status {
	return driver.Status{Source: a.source, Tag: a.tag, Bytes: a.bytes}
}

// fits reports whether a receive with a source and a tag takes the message.
func (a *arrival) fits(source, tag int) bool {
	return (source == driver.AnySource || source == a.source) && (tag == driver.AnyTag || tag == a.tag)
}

func (e *engine) newInbox(comm uintptr) (*inbox, error) {
	s, err := e.slots.get(&e.memory)
	if err != nil {
		return nil, err
	}
	e.prepare(s)
	s.calls.Finish.Proc = e.lib.call.GetElements
	in := &inbox{e: e, slot: s, matches: e.lib.maker == makerOpenMPI}
	ask := &s.calls.Ask
	if in.matches {
		e.inboxes.add(in)
		ask.Proc = e.lib.call.Improbe
		ask.Args = [...]uintptr{uintptr(e.lib.number(anySource)), uintptr(e.lib.number(anyTag)), comm, address(&s.flag), address(&s.found),
			address(&s.status), 0}
	} else {
		ask.Proc = e.lib.call.Iprobe
		ask.Args = [...]uintptr{2: comm, 3: address(&s.flag), 4: address(&s.status), 6: 0}
	}
	return in, nil
}

// close ends the inbox, whose communicator is about to be freed. Receives that have no message never get one.
func (in *inbox) close() {
	in.e.inboxes.remove(in)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.e.slots.put(in.slot)
	in.slot = nil
}

// ask asks MPI for a message, up to rounds times. The inbox is locked.
func (in *inbox) ask(rounds uintptr) (a arrival, found bool, code int32) {
	s := in.slot
	if s == nil {
		return a, false, 0
	}
	s.flag, s.calls.Rounds = 0, rounds
	in.e.enter()
	s.calls.Run()
	in.e.leave()
	if code = s.calls.Ask.Result(); code != 0 || s.flag == 0 {
		return a, false, code
	}
	a.handle, a.bytes = s.found, uint64(max(s.bytes, 0))
	a.source, a.tag = in.e.lib.sender(s)
	return a, true, 0
}

// post gives a receive the first message that has come for it. Otherwise it keeps the receive, and asks up to rounds times for a message.
// It reports whether the receive has a message.
func (in *inbox) post(r *request, p unsafe.Pointer, rounds uintptr) bool {
	r.inbox, r.room = in, p
	r.waiting.Store(true)
	in.mu.Lock()
	i := slices.IndexFunc(in.arrived, func(a arrival) bool { return a.fits(r.peer, r.tag) })
	if i >= 0 {
		a := in.arrived[i]
		in.arrived = slices.Delete(in.arrived, i, i+1)
		in.receive(r, a, max(rounds, 1))
	} else {
		in.posted = append(in.posted, r)
		in.e.inboxes.waiting.Add(1)
	}
	in.mu.Unlock()
	return i >= 0 || rounds > 0 && in.find(r, rounds)
}

// find takes messages until one is for r, or no other has come. It reports whether r has a message, or has failed.
func (in *inbox) find(r *request, rounds uintptr) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for r.waiting.Load() && in.step(rounds) {
	}
	return !r.waiting.Load()
}

// step takes one message, and reports whether there was one. If MPI reports an error, as it may after a rank was lost, no receive can be
// sure of its message, so all of them fail. The inbox is locked.
func (in *inbox) step(rounds uintptr) bool {
	a, found, code := in.ask(rounds)
	if found {
		in.take(a, rounds)
	}
	for code != 0 && len(in.posted) > 0 {
		r := in.posted[0]
		in.remove(r)
		r.done, r.code = true, code
		r.waiting.Store(false)
	}
	return found
}

// take gives a message to the oldest receive that takes it, or keeps it. The inbox is locked.
func (in *inbox) take(a arrival, rounds uintptr) {
	i := slices.IndexFunc(in.posted, func(r *request) bool { return a.fits(r.peer, r.tag) })
	if i < 0 {
		in.arrived = append(in.arrived, a)
		return
	}
	r := in.posted[i]
	in.remove(r)
	in.receive(r, a, rounds)
}

// receive begins to receive a message, and asks up to rounds times whether it is there. The inbox is locked.
func (in *inbox) receive(r *request, a arrival, rounds uintptr) {
	e, s, to := in.e, r.slot, r.room
	defer r.waiting.Store(false)
	if a.bytes > r.bytes {
		p, err := e.memory.alloc(r.op, a.bytes)
		if err != nil { // the message stays with MPI, and its sender may wait for ever
			r.done, r.code = true, int32(e.lib.abi.valueOf(classNoMem))
			return
		}
		r.spare, to = block{p, a.bytes}, p
	}
	count, datatype := uintptr(a.bytes), e.lib.handles[typeByte]
	if a.bytes > e.maxCount() {
		t, err := e.longType(r.op, a.bytes)
		if err != nil {
			r.done, r.code = true, int32(e.lib.abi.valueOf(classNoMem))
			return
		}
		defer e.freeType(t)
		count, datatype = 1, e.lib.loadHandle(unsafe.Pointer(t))
	}
	s.found, s.bytes = a.handle, int64(a.bytes)
	b := &s.calls.Begin
	b.Proc, b.Args = e.lib.call.Imrecv, [...]uintptr{uintptr(to), count, datatype, address(&s.found), address(&s.handle), 6: 0}
	r.code, r.done = e.run(r, rounds)
	b.Proc = 0
	if code := b.Result(); code != 0 {
		r.code, r.done = code, true
	}
}

// withdraw ends a receive that has no message.
func (in *inbox) withdraw(r *request) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if r.waiting.Load() {
		in.remove(r)
		r.done, r.withdrawn = true, true
		r.waiting.Store(false)
	}
}

func (in *inbox) remove(r *request) {
	if i := slices.Index(in.posted, r); i >= 0 {
		in.posted = slices.Delete(in.posted, i, i+1)
		in.e.inboxes.waiting.Add(-1)
	}
}

// Iprobe asks whether a message has come.
func (c *communicator) Iprobe(source, tag int) (driver.Status, bool, error) {
	in := c.inbox
	c.e.inboxes.progress()
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.matches {
		in.slot.calls.Ask.Args[0], in.slot.calls.Ask.Args[1] = uintptr(c.source(source)), uintptr(c.tag(tag))
		a, found, code := in.ask(1)
		return a.status(), found, in.failure("MPI_Iprobe", source, tag, code)
	}
	for {
		if i := slices.IndexFunc(in.arrived, func(a arrival) bool { return a.fits(source, tag) }); i >= 0 {
			return in.arrived[i].status(), true, nil
		}
		a, found, code := in.ask(1)
		if !found {
			return driver.Status{}, false, in.failure("MPI_Improbe", source, tag, code)
		}
		in.take(a, 1)
	}
}

func (in *inbox) failure(api string, source, tag int, code int32) error {
	err := in.e.failure("Iprobe", api, code)
	if err != nil {
		err.Peer, err.Tag = source, tag
	}
	return asError(err)
}
