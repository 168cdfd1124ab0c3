package mpi

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// request is what the engine knows about a request under way.
type request struct {
	slot       *slot
	index      uint32
	generation uint32
	live       bool

	op      string
	api     string
	peer    int
	tag     int
	bytes   uint64
	receive bool

	cancelled bool

	done bool // it was done when it began: Test reports code
	code int32

	parts block // the lengths of the parts of a collective operation

	// Of a receive whose message the engine finds: see match.go.
	inbox     *inbox
	room      unsafe.Pointer // the memory for the message
	waiting   atomic.Bool    // no message has been found
	withdrawn bool           // it was cancelled before one was found
	spare     block          // the message, if it is longer than the memory for it

	pieces []*request // further requests, if it took several calls of MPI: all have to be done
	failed *driver.Error
}

func (r *request) id() driver.Request {
	return driver.Request(r.generation)<<32 | driver.Request(r.index+1)
}

// requests holds as many requests as were ever under way at once.
type requests struct {
	mu   sync.Mutex
	all  atomic.Pointer[[]*request] // readers take no lock: elements are only appended
	free []*request
}

func (e *engine) newRequest(op, api string, peer, tag int, bytes uint64) (*request, error) {
	t := &e.requests
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.free) == 0 {
		s, err := e.slots.get(&e.memory)
		if err != nil {
			return nil, err
		}
		var all []*request
		if p := t.all.Load(); p != nil {
			all = *p
		}
		e.prepare(s)
		r := &request{slot: s, index: uint32(len(all))}
		all = append(all, r)
		t.all.Store(&all)
		t.free = append(t.free, r)
	}
	r := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	r.generation++
	r.live = true
	r.op, r.api, r.peer, r.tag, r.bytes = op, api, peer, tag, bytes
	e.lib.storeHandle(unsafe.Pointer(&r.slot.handle), e.lib.handles[requestNull])
	return r, nil
}

// prepare fills in the arguments that are the same for all requests of a slot.
func (e *engine) prepare(s *slot) {
	c := &e.lib.call
	s.calls.Ask.Proc = c.Test
	s.calls.Ask.Args = [...]uintptr{0: address(&s.handle), 1: address(&s.flag), 2: address(&s.status), 6: 0}
	s.calls.Finish.Args = [...]uintptr{0: address(&s.status), 1: e.lib.handles[typeByte], 2: address(&s.bytes), 6: 0}
	s.calls.Flag = &s.flag
}

// recycle makes a request that MPI does not use any more available to later calls.
func (e *engine) recycle(r *request) {
	for _, p := range r.pieces {
		e.recycle(p)
	}
	e.memory.drop(&r.parts)
	t := &e.requests
	t.mu.Lock()
	defer t.mu.Unlock()
	*r = request{slot: r.slot, index: r.index, generation: r.generation}
	t.free = append(t.free, r)
}

func (e *engine) find(op string, id driver.Request) (*request, error) {
	index, generation := uint32(id)-1, uint32(id>>32)
	if all := e.requests.all.Load(); all != nil && uint64(index) < uint64(len(*all)) {
		if r := (*all)[index]; r.generation == generation && r.live {
			return r, nil
		}
	}
	return nil, driver.Errorf(op, driver.ErrInvalidArgument, "%#x is not a request under way", uint64(id))
}

// address returns the address of mapped memory.
func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// Test asks which of the requests are done.
func (e *engine) Test(reqs []driver.Request, out []driver.Status) (done int, err error) {
	var batch [scratchSize]*request
	var at [scratchSize]int
	n := 0
	flush := func() {
		switch {
		case n == 1:
			if st, ok := e.testOne(batch[0]); ok {
				reqs[at[0]], out[at[0]] = 0, st
				done++
			}
		case n > 1:
			done += e.testSome(batch[:n], at[:n], reqs, out)
		}
		n = 0
	}
	e.inboxes.progress()
	for i, id := range reqs {
		if id == 0 {
			continue
		}
		r, err := e.find("Test", id)
		if err != nil {
			return done, err
		}
		if r.waiting.Load() {
			continue
		}
		if r.done {
			reqs[i], out[i] = 0, e.finish(r, r.code)
			done++
			continue
		}
		if len(r.pieces) > 0 {
			if st, ok := e.testPieces(r); ok {
				reqs[i], out[i] = 0, st
				done++
			}
			continue
		}
		batch[n], at[n] = r, i
		if n++; n == scratchSize {
			flush()
		}
	}
	flush()
	return done, nil
}

// poll calls MPI_Test on one request of MPI. If the request is a receive and is done, it also asks for the length of the message.
func (e *engine) poll(r *request) (code int32, ok bool) { return e.run(r, 1) }

// run makes the calls of r.slot.calls: the one that begins the request, if there is one, MPI_Test up to rounds times, and
// MPI_Get_elements_x for a receive that is done.
func (e *engine) run(r *request, rounds uintptr) (code int32, ok bool) {
	s := r.slot
	s.flag = 0
	s.calls.Rounds = rounds
	s.calls.Finish.Proc = 0
	if r.receive && r.inbox == nil { // otherwise the length is known
		s.calls.Finish.Proc = e.lib.call.GetElements
	}
	e.enter()
	s.calls.Run()
	e.leave()
	code = s.calls.Ask.Result()
	return code, code != 0 || s.flag != 0
}

func (e *engine) testOne(r *request) (driver.Status, bool) {
	code, ok := e.poll(r)
	if !ok {
		return driver.Status{}, false
	}
	return e.finish(r, code), true
}

// testPieces tests what is not done of a request and of its pieces.
func (e *engine) testPieces(r *request) (driver.Status, bool) {
	all := true
	test := func(p *request) {
		if e.isNull(p) {
			return
		}
		code, ok := e.poll(p)
		if !ok {
			all = false
			return
		}
		if code != 0 && r.failed == nil {
			r.failed = e.describe(r, "MPI_Test", code)
		}
		e.dropHandle(p)
	}
	test(r)
	for _, p := range r.pieces {
		test(p)
	}
	if !all {
		return driver.Status{}, false
	}
	st := driver.Status{Err: asError(r.failed)}
	e.recycle(r)
	return st, true
}

// testEach tests requests one by one.
func (e *engine) testEach(batch []*request, at []int, reqs []driver.Request, out []driver.Status) (done int) {
	for k, r := range batch {
		if st, ok := e.testOne(r); ok {
			reqs[at[k]], out[at[k]] = 0, st
			done++
		}
	}
	return done
}

func (e *engine) testSome(batch []*request, at []int, reqs []driver.Request, out []driver.Status) (done int) {
	lib := e.lib
	x, err := e.scratch.get(&e.memory)
	if err != nil { // testing one by one needs no memory
		return e.testEach(batch, at, reqs, out)
	}
	defer e.scratch.put(x)
	width := lib.layout.handle
	handle := func(k int) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(&x.handles), k*width) }
	for k, r := range batch {
		lib.storeHandle(handle(k), lib.loadHandle(unsafe.Pointer(&r.slot.handle)))
	}
	x.count = 0
	e.enter()
	code := int32(lib.call.Testsome.Call5(uintptr(len(batch)), address(&x.handles), address(&x.count), address(&x.indices),
		address(&x.statuses)))
	var class int32
	if code != 0 {
		lib.call.ErrorClass.Call2(uintptr(code), address(&x.flag))
		class = x.flag
	}
	e.leave()
	for k, r := range batch {
		lib.storeHandle(unsafe.Pointer(&r.slot.handle), lib.loadHandle(handle(k)))
	}
	// Open MPI returns the error of one request, and not MPI_ERR_IN_STATUS, but fills in the statuses all the same.
	if code != 0 && lib.abi.classOf(int(class)) != classInStatus && x.count <= 0 {
		// There are no statuses, and the code does not say which request has failed, so each is tested.
		return e.testEach(batch, at, reqs, out)
	}
	for i := range int(x.count) { // MPI_UNDEFINED is negative
		k := int(x.indices[i])
		r := batch[k]
		status := unsafe.Add(unsafe.Pointer(&x.statuses), i*lib.layout.status)
		copy(r.slot.status[:], unsafe.Slice((*byte)(status), lib.layout.status))
		var failed int32
		if code != 0 {
			failed = *(*int32)(unsafe.Add(status, lib.layout.failed))
		}
		if r.receive && failed == 0 {
			e.enter()
			lib.call.GetElements.Call3(address(&r.slot.status), lib.handles[typeByte], address(&r.slot.bytes))
			e.leave()
		}
		reqs[at[k]], out[at[k]] = 0, e.finish(r, failed)
		done++
	}
	return done
}

// finish reads how a request has ended and recycles it. The length of a message is in the slot by then.
func (e *engine) finish(r *request, code int32) (st driver.Status) {
	lib, s := e.lib, r.slot
	if r.spare.p != nil {
		e.memory.drop(&r.spare)
		if code == 0 {
			code = int32(lib.abi.valueOf(classTruncate)) // Open MPI's codes are its classes
		}
	}
	if r.receive && !r.withdrawn {
		st.Source, st.Tag = lib.sender(s)
	}
	switch {
	case code != 0:
		err := e.describe(r, "MPI_Test", code)
		if err.Kind == driver.ErrTruncated && st.Source >= 0 && st.Tag >= 0 {
			err.Peer, err.Tag = st.Source, st.Tag
		}
		st.Err = err
		e.dropHandle(r)
	case r.withdrawn:
		st.Cancelled = true
	case r.receive:
		if r.cancelled {
			e.enter()
			lib.call.TestCancelled.Call2(address(&s.status), address(&s.flag))
			e.leave()
			st.Cancelled = s.flag != 0
		}
		if !st.Cancelled {
			st.Bytes = uint64(max(s.bytes, 0))
		}
	}
	e.recycle(r)
	return st
}

// sender reads who sent a message, and with which tag.
func (l *library) sender(s *slot) (source, tag int) {
	field := func(at int) int { return int(*(*int32)(unsafe.Pointer(&s.status[at]))) }
	return field(l.layout.source), field(l.layout.tag)
}

// describe returns the error of a request.
func (e *engine) describe(r *request, api string, code int32) *driver.Error {
	err := e.failure(r.op, api, code)
	if err != nil {
		err.Peer, err.Tag, err.Bytes = r.peer, r.tag, r.bytes
	}
	return err
}

func (e *engine) failure(op, api string, code int32) *driver.Error {
	if code == 0 {
		return nil
	}
	e.enter()
	defer e.leave()
	return e.lib.failure(op, api, code)
}

func (e *engine) isNull(r *request) bool {
	return e.lib.loadHandle(unsafe.Pointer(&r.slot.handle)) == e.lib.handles[requestNull]
}

// dropHandle frees MPI's request, which some libraries keep after an error. A receive that is still active is cancelled.
func (e *engine) dropHandle(r *request) {
	if e.isNull(r) {
		return
	}
	e.enter()
	defer e.leave()
	if r.receive {
		e.lib.call.Cancel.Call1(address(&r.slot.handle))
	}
	e.lib.call.RequestFree.Call1(address(&r.slot.handle))
}

// Cancel asks that a receive end without a message.
func (e *engine) Cancel(id driver.Request) error {
	r, err := e.find("Cancel", id)
	if err != nil {
		return err
	}
	if !r.receive {
		return driver.Errorf("Cancel", driver.ErrUnsupported, "%s cannot be cancelled", r.op)
	}
	if r.inbox != nil { // a message that was found cannot be given back
		r.inbox.withdraw(r)
		return nil
	}
	r.cancelled = true
	e.enter()
	code := int32(e.lib.call.Cancel.Call1(address(&r.slot.handle)))
	e.leave()
	return asError(e.failure("Cancel", "MPI_Cancel", code))
}

// abandon cancels receives that are not done, before MPI is finalized. No request may be tested after it.
func (e *engine) abandon() {
	all := e.requests.all.Load()
	if all == nil {
		return
	}
	for _, r := range *all {
		if r.live && r.receive {
			e.dropHandle(r)
		}
	}
}
