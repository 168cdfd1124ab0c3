package nccl

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/nap"
)

// watched is how often an idle communicator is asked for errors. They are mostly errors of other ranks.
const watched = 20 * time.Millisecond

// Comm is a communicator of NCCL: ranks, each with a device. Its methods, and the functions that take it, are safe for concurrent use.
type Comm struct {
	lib        *library
	dev        *hal.Device
	rank, size int

	turn chan struct{} // a lock: a call holds it until its work is on the stream
	gone chan struct{} // closed when handle becomes 0

	// start is memory that the library reads and writes until it has made the communicator. It must not be on a stack, because stacks move.
	start *start

	mu     sync.Mutex // held during calls of the library with the handle
	handle uintptr    // 0 after the end
	closed bool

	err atomic.Pointer[driver.Error] // set with mu held, and read without it, because the library's abort may wait
}

// start is memory for ncclCommInitRank.
type start struct {
	handle uintptr
	config config
	id     [16]uint64
}

// raw is the bytes of an id, which is aligned as C expects.
func raw(id *[16]uint64) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(id)), len(ID{})) }

// join makes a communicator, and waits until all ranks have joined.
func join(ctx context.Context, op string, l *library, id ID, rank, size int, dev *hal.Device) (*Comm, error) {
	if ctx.Err() != nil {
		return nil, driver.Interrupted(op, ctx, driver.NoPeer, driver.NoTag, 0, 0)
	}
	c := &Comm{lib: l, dev: dev, rank: rank, size: size, turn: make(chan struct{}, 1), gone: make(chan struct{})}
	runtime.LockOSThread()
	err := l.enter(op, dev)
	if err == nil {
		err = c.begin(op, id)
	}
	runtime.UnlockOSThread()
	if err != nil {
		return nil, err
	}
	if err := c.settle(ctx, op, "ncclCommInitRank", driver.NoPeer, 0); err != nil {
		return nil, err
	}
	if err := c.agree(op); err != nil {
		c.fail(err)
		return nil, err
	}
	go c.watch()
	return c, nil
}

// begin starts to make the communicator.
func (c *Comm) begin(op string, id ID) error {
	l := c.lib
	c.start = &start{config: notBlocking()}
	copy(raw(&c.start.id), id[:])
	at := func(p unsafe.Pointer) uintptr { return dl.Address(p) }
	handle, conf := at(unsafe.Pointer(&c.start.handle)), at(unsafe.Pointer(&c.start.config))
	var code int32
	api := "ncclCommInitRankScalable"
	if l.call.InitRankScalable.Valid() {
		code = int32(l.call.InitRankScalable.Call6(handle, uintptr(c.size), uintptr(c.rank), 1, at(unsafe.Pointer(&c.start.id)), conf))
	} else {
		api = "ncclCommInitRankConfig"
		code = int32(l.call.InitRankConfig.ByValue([]uintptr{handle, uintptr(c.size), uintptr(c.rank), conf}, 2, c.start.id[:]))
	}
	if code != success && code != inProgress {
		return l.failure(op, api, code, 0)
	}
	if c.handle = c.start.handle; c.handle == 0 {
		return driver.Errorf(op, driver.ErrEngine, "%s succeeded and returned no communicator", api)
	}
	return nil
}

// agree checks that the library reports the rank and the size that were asked for.
func (c *Comm) agree(op string) *driver.Error {
	w := dl.GetWords()
	defer w.Put()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handle == 0 {
		return c.refusal(op)
	}
	code := int32(c.lib.call.UserRank.Call2(c.handle, w.At(0)))
	if code == success {
		code = int32(c.lib.call.Count.Call2(c.handle, w.At(1)))
	}
	if code != success {
		return c.lib.failure(op, "ncclCommCount", code, c.handle)
	}
	if rank, size := int(int32(w[0])), int(int32(w[1])); rank != c.rank || size != c.size {
		return driver.Errorf(op, driver.ErrMismatch, "the library says that this is rank %d of %d, not %d of %d", rank, size, c.rank,
			c.size)
	}
	return nil
}

// Rank is this process's number in the communicator.
func (c *Comm) Rank() int { return c.rank }

// Size is the number of ranks.
func (c *Comm) Size() int { return c.size }

// Err returns why the communicator was aborted, or nil if it was not. It never waits.
func (c *Comm) Err() error {
	if err := c.err.Load(); err != nil {
		return err
	}
	return nil
}

// ask returns the communicator's state. The caller holds the lock, and the handle is not 0.
func (c *Comm) ask(op string) (state int32, err *driver.Error) {
	w := dl.GetWords()
	defer w.Put()
	const api = "ncclCommGetAsyncError"
	if code := int32(c.lib.call.GetAsyncError.Call2(c.handle, w.At(0))); code != success {
		return code, c.lib.failure(op, api, code, c.handle)
	}
	if state = int32(w[0]); state != success && state != inProgress {
		return state, c.lib.failure(op, api, state, c.handle)
	}
	return state, nil
}

// settle waits until a call of the library has taken effect; for an operation that means that its work is on the stream. If it fails, or
// ctx ends first, the communicator is aborted.
func (c *Comm) settle(ctx context.Context, op, api string, peer int, bytes uint64) error {
	var w nap.Waiter
	for {
		if c.err.Load() != nil { // without the lock, which an abort may hold
			return c.refusal(op)
		}
		c.mu.Lock()
		if c.handle == 0 {
			e := c.refusal(op)
			c.mu.Unlock()
			return e
		}
		state, err := c.ask(op)
		if err != nil {
			err.Peer, err.Bytes, err.After, err.API = peer, bytes, w.Since(), api
			c.abort(err)
		}
		c.mu.Unlock()
		if err != nil {
			return err
		}
		if state == success {
			return nil
		}
		if w.Rest(ctx) {
			e := driver.Interrupted(op, ctx, peer, driver.NoTag, bytes, w.Since())
			c.fail(e)
			return e
		}
	}
}

// watch asks the library for errors from time to time, so that the communicator is aborted even if no call is under way.
func (c *Comm) watch() {
	t := time.NewTicker(watched)
	defer t.Stop()
	for {
		select {
		case <-c.gone:
			return
		case <-t.C:
		}
		c.look("watch")
	}
}

// look aborts the communicator if the library reports an error. It does not wait for another call of the library.
func (c *Comm) look(op string) {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	if c.handle != 0 {
		if _, err := c.ask(op); err != nil {
			c.abort(err)
		}
	}
}

// fail makes the communicator refuse all calls from now on, because of err, and aborts it.
func (c *Comm) fail(err *driver.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abort(err)
}

// abort does what fail does, for a caller that holds c.mu.
func (c *Comm) abort(err *driver.Error) {
	if err != nil && !c.closed {
		c.err.CompareAndSwap(nil, err)
	}
	if c.handle != 0 {
		c.lib.call.Abort.Call1(c.handle)
		c.end()
	}
}

func (c *Comm) end() {
	c.handle = 0
	close(c.gone)
}

// refusal is the error of a call on a communicator whose handle is 0, or which was closed.
func (c *Comm) refusal(op string) *driver.Error {
	if err := c.err.Load(); err != nil {
		e := driver.Errorf(op, err.Kind, "refused, because the communicator was aborted")
		e.Err = err
		return e
	}
	return driver.Errorf(op, driver.ErrClosed, "the communicator was closed")
}

// take waits until no other call holds turn, and takes it.
func (c *Comm) take(ctx context.Context, op string) error {
	select {
	case c.turn <- struct{}{}:
	default:
		select {
		case c.turn <- struct{}{}:
		case <-ctx.Done():
			return driver.Interrupted(op, ctx, driver.NoPeer, driver.NoTag, 0, 0)
		}
	}
	return nil
}

// Sync waits until the work that the stream has been given is done. If the communicator fails meanwhile, or had failed before, Sync returns
// that error, and the elements that the operations should have written are unspecified. If ctx ends first, the communicator is aborted.
func (c *Comm) Sync(ctx context.Context, stream *hal.Stream) error {
	const op = "Sync"
	if err := c.usable(ctx, op, stream); err != nil {
		return err
	}
	e, err := stream.Record()
	if err != nil {
		return err
	}
	defer e.Close()
	var w nap.Waiter
	for {
		done, err := e.Done()
		c.look(op)
		if failed := c.Err(); failed != nil {
			return failed
		}
		if done || err != nil {
			return err
		}
		if w.Rest(ctx) {
			e := driver.Interrupted(op, ctx, driver.NoPeer, driver.NoTag, 0, w.Since())
			c.fail(e)
			return e
		}
	}
}

// Abort ends the communicator at once. Streams that wait for other ranks go on, and those ranks see that this one is lost. After that the
// program can only call Close.
func (c *Comm) Abort() {
	if c != nil {
		c.fail(driver.Errorf("Abort", driver.ErrClosed, "the program has aborted the communicator"))
	}
}

// Close waits until all work of the communicator on streams is done, and ends the communicator. All ranks call it. If ctx ends first, or if
// there is an error, the communicator is aborted, and Close returns the error. If it was aborted before, Close does not wait for other
// ranks.
func (c *Comm) Close(ctx context.Context) error {
	const op = "Close"
	if c == nil {
		return driver.Errorf(op, driver.ErrInvalidArgument, "nil communicator")
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return driver.Errorf(op, driver.ErrClosed, "the communicator was closed before")
	}
	aborted := c.handle == 0
	c.mu.Unlock()
	if err := c.take(ctx, op); err != nil {
		return err
	}
	defer func() { <-c.turn }()
	var err error
	if !aborted {
		err = c.finalize(ctx, op)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return err
}

func (c *Comm) finalize(ctx context.Context, op string) error {
	const api = "ncclCommFinalize"
	c.mu.Lock()
	if c.handle == 0 {
		defer c.mu.Unlock()
		return c.refusal(op)
	}
	code := int32(c.lib.call.Finalize.Call1(c.handle))
	if code != success && code != inProgress {
		e := c.lib.failure(op, api, code, c.handle)
		c.abort(e)
		c.mu.Unlock()
		return e
	}
	c.mu.Unlock()
	if err := c.settle(ctx, op, api, driver.NoPeer, 0); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handle == 0 {
		return c.refusal(op)
	}
	code = int32(c.lib.call.Destroy.Call1(c.handle))
	c.end()
	if code != success && code != inProgress {
		return c.lib.failure(op, "ncclCommDestroy", code, 0)
	}
	return nil
}
