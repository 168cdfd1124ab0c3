package halyard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	_ "github.com/go-halyard/halyard/backends"     // those that the build tags select
	_ "github.com/go-halyard/halyard/buffer/trace" // obeys HALYARD_TRACE and HALYARD_DEBUG=log
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
	"github.com/go-halyard/halyard/kernel"
)

// Queue is a device, a stream on it, a context, the buffers that were made with it, and the first error of all calls. It may be used by
// several goroutines at once; what they enqueue runs in the order of the calls. Open and On make one; on a nil or zero Queue calls do
// nothing, and Err and Close return an error of kind hal.ErrInvalidArgument.
type Queue struct {
	c    *core
	grid hal.Grid // of Over and Grid
	set  bool
	step *kernel.Step // in which launches are recorded, or nil
}

// core returns what q stands on, nil if q is nil or zero. The methods of a nil core do nothing.
func (q *Queue) core() *core {
	if q == nil {
		return nil
	}
	return q.c
}

// core is what the queues that Over and Grid return share with the one that they come from.
type core struct {
	ctx    context.Context
	dev    *hal.Device // nil after an error of Open
	stream *hal.Stream // nil after an error of Open
	lent   bool        // the stream is the program's
	kept   bool        // it is a fork: the handles on devices are another queue's
	first  *first

	others []opened      // the devices besides dev
	split  *kernel.Split // divides launches; nil if there is one device
	on     parts.OnQueue // split, or stream if that is nil
	forks  *forks        // of a fork they are those of the queue that it is of

	recording atomic.Int32 // calls of Record under way

	mu     sync.Mutex
	made   map[uint64]owned // buffers and steps that are not closed
	next   uint64
	calls  int       // under way; Close waits for them
	idle   sync.Cond // signalled when calls becomes 0
	closed bool
	ended  chan struct{} // closed when everything of the queue is closed
	failed error         // what went wrong with that

	unclosed runtime.Cleanup // leaves when the queue is unreachable, unless Close has closed everything
}

// owned is a buffer or a step of a queue.
type owned interface{ Close() error }

// devices are the handles of queues that are closed. A handle cannot be closed while a buffer of another queue has memory on it, so
// each queue that closes tries all of them. There are at most as many that stay as there are such buffers.
var devices struct {
	mu     sync.Mutex
	queues int // that have not ended
	left   []*hal.Device
}

// first is the first error of a queue. It has no reference to the queue, so that it can be reported when the queue is unreachable.
type first struct {
	mu     sync.Mutex
	err    *Error
	failed atomic.Bool // err is not nil
	told   bool        // the program has asked for it
	open   bool        // the queue counts in devices.queues; devices.mu guards it
}

// Open opens a device and makes a queue on it. Without a name it takes the device that [hal.Default] takes: a GPU if there is one. The
// names are those of [hal.Open]: "cuda:0", "opencl:gpu", "host". ctx is the context of all waits of the queue: when it ends they end, with
// an error.
//
// With several names, or with "all", which is all GPUs, the queue is over all these devices. A launch whose kernel allows it is divided
// among them, and each has the elements that its threads use: see [kernel.Split]. The results are the same. If no GPU is found, "all" is
// the devices of the host that HALYARD_HOST_DEVICES makes, and without these the device that [hal.Default] takes. A GPU that cannot be opened
// is left out, unless none can, and one whose compiler is missing takes no part in launches; a terminal and HALYARD_DEBUG=log tell it once.
func Open(ctx context.Context, device ...string) *Queue {
	const op = "Open"
	q := newQueue(ctx, op)
	c := q.c
	if c.keep(nil) {
		return q
	}
	err := error(nil)
	switch {
	case len(device) == 0:
		c.dev, err = hal.Default(ctx)
		unbuilt.Do(func() { tellUnbuilt(c.dev) })
	case len(device) == 1 && device[0] != all:
		c.dev, err = openNamed(ctx, device[0])
	default:
		err = c.openAll(device)
	}
	if err == nil && c.stream == nil {
		c.stream, err = c.dev.NewStream()
	}
	c.on.Target = c.stream
	if c.split != nil {
		c.on.Target = c.split
	}
	c.keep(layer.Called(op, err))
	return q
}

func openNamed(ctx context.Context, name string) (*hal.Device, error) {
	dev, err := hal.Open(ctx, name)
	if err != nil {
		err = listed(ctx, err)
	}
	return dev, err
}

// listed adds the devices that there are to the error of opening one.
func listed(ctx context.Context, err error) error {
	e, ok := err.(*hal.Error)
	if !ok || ctx.Err() != nil {
		return err
	}
	infos, _ := hal.Devices(ctx) // also those of backends besides one that fails
	var names []string
	for _, i := range infos {
		names = append(names, i.Name())
	}
	if len(names) == 0 {
		names = []string{"none"}
	}
	more, here := *e, "the devices here are "+strings.Join(names, ", ")
	switch {
	case e.Err != nil: // it stands at the end of the text
		more.Err = fmt.Errorf("%w; %s", e.Err, here)
	case e.Detail != "":
		more.Detail += "; " + here
	default:
		more.Detail = here
	}
	return &more
}

// On makes a queue of a stream, which stays the program's: Close waits for its work and leaves it open.
func On(ctx context.Context, stream *hal.Stream) *Queue {
	const op = "On"
	q := newQueue(ctx, op)
	q.c.lent = true
	if stream == nil {
		q.c.keep(hal.Errorf(op, hal.ErrInvalidArgument, "nil stream"))
		return q
	}
	q.c.dev, q.c.stream, q.c.on.Target = stream.Device(), stream, stream
	return q
}

func newQueue(ctx context.Context, op string) *Queue {
	c := &core{ctx: ctx, first: &first{open: true}, made: map[uint64]owned{}, forks: &forks{}, ended: make(chan struct{})}
	c.idle.L = &c.mu
	c.on.Failed = c.first.keep
	if ctx == nil {
		c.ctx = context.Background()
		c.keep(hal.Errorf(op, hal.ErrInvalidArgument, "nil context"))
	}
	runtime.AddCleanup(c, (*first).dropped, c.first)
	c.unclosed = runtime.AddCleanup(c, (*first).leaveLost, c.first)
	devices.mu.Lock()
	devices.queues++
	devices.mu.Unlock()
	return &Queue{c: c}
}

// dropped reports the error of a queue that nobody can ask any more. Package hal gives back its stream and its device, and reports them.
func (f *first) dropped() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil && !f.told {
		f.told = true
		err := f.err
		go layer.ReportLeak(hal.Leak{Object: "queue with an error that was not read: " + err.Error()})
	}
}

// keep remembers the first error, and reports whether there is one now or was one before.
func (c *core) keep(err error) bool {
	if c == nil {
		return true
	}
	if err == nil {
		return c.first.failed.Load()
	}
	c.first.keep(err)
	return true
}

// keep keeps an error if it is the first. Drivers call it, too, for launches that have failed (parts.OnQueue).
func (f *first) keep(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return
	}
	err = cause(err)
	at, launch := "", (*hal.Error)(nil)
	if errors.As(err, &launch) && launch.Site != "" {
		at = launch.Site // more than the line of the call that has found it
		if err == launch {
			here := *launch
			here.Site, err = "", &here
		}
	} else {
		at = site()
	}
	f.err, f.told = &Error{at, err}, false
	f.failed.Store(true)
}

// cause returns why elements are lost, if an error says that they are: on a queue with an error nobody can overwrite them, as package
// buffer advises.
func cause(err error) error {
	if e, ok := err.(*hal.Error); ok && e.Kind == hal.ErrDeviceLost && e.Err != nil {
		return e.Err
	}
	return err
}

// Err returns the first error of the queue, or nil. It does not wait: work that is still under way may fail later. The error is a [*Error].
func (q *Queue) Err() error {
	c := q.core()
	if c == nil {
		return hal.Errorf("Err", hal.ErrInvalidArgument, "nil or zero queue")
	}
	f := c.first
	f.mu.Lock()
	f.told = true
	f.mu.Unlock()
	return f.said()
}

// said returns the first error.
func (f *first) said() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		return nil
	}
	return f.err
}

// Fail makes err the queue's first error, unless it has one: for what the program itself finds wrong. Nil does nothing.
func (q *Queue) Fail(err error) { q.core().keep(err) }

// Sync waits for everything that was enqueued on the queue.
func (q *Queue) Sync() {
	const op = "Sync"
	if c := q.core(); c.begin(op) {
		defer c.end()
		c.keep(layer.Called(op, c.sync(c.ctx)))
	}
}

// begin reports whether a call of a method does something. If so, end has to follow.
func (c *core) begin(op string) bool {
	if c == nil || c.keep(nil) || c.recording.Load() > 0 && c.keep(misplaced(op)) {
		return false
	}
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.calls++
	}
	c.mu.Unlock()
	if closed {
		c.keep(hal.Errorf(op, hal.ErrClosed, "the queue is closed"))
	}
	return !closed
}

func (c *core) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = max(c.calls-1, 0) // the program may call Launched without Launching
	if c.calls == 0 {
		c.idle.Signal()
	}
}

// Close waits for calls of other goroutines and for everything that was enqueued, closes the queue's buffers and steps, its stream and its
// handle on the device, and returns the first error of all calls on the queue. If the context ends first, Close returns its error, and
// the rest is done in the background. Closing again returns the first error again. The functions that View, Update and Record run must not
// call Close.
//
// The device closes with its last queue. That Close is an error if arrays, buffers or streams of the program are still open.
func (q *Queue) Close() error {
	c := q.core()
	if c == nil {
		return hal.Errorf("Close", hal.ErrInvalidArgument, "nil or zero queue")
	}
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	if !closed {
		drained := make(chan error, 1)
		go func() { drained <- c.drain() }()
		select {
		case err := <-drained:
			c.shut(err)
		case <-c.ctx.Done():
			go func() { c.shut(<-drained) }()
		}
	}
	select {
	case <-c.ended:
		c.keep(c.failed)
	case <-c.ctx.Done():
		select {
		case <-c.ended: // both have come
			c.keep(c.failed)
		default:
			c.keep(layer.Interrupted("Close", c.ctx))
		}
	}
	return q.Err()
}

// drain waits for calls of other goroutines and for what was enqueued, also after the end of the context.
func (c *core) drain() error {
	c.mu.Lock()
	for c.calls > 0 {
		c.idle.Wait()
	}
	c.mu.Unlock()
	if c.stream == nil {
		return nil
	}
	return c.sync(context.WithoutCancel(c.ctx))
}

// shut closes what belongs to the queue, the buffers on the caller's goroutine, whose line traces show. failed is an error of the work.
func (c *core) shut(failed error) {
	c.mu.Lock()
	made := maps.Clone(c.made)
	c.mu.Unlock()
	errs, stays := []error{failed}, false
	for id, b := range made {
		err := b.Close()
		if err == nil {
			c.remove(id)
		} else {
			stays = true // another queue uses it, and it is closed when the program has dropped it
		}
		errs = append(errs, err)
	}
	go func() { // closing the last handle on a device waits for work
		var handles []*hal.Device
		if !c.kept {
			errs = append(errs, c.forks.close())
		}
		switch {
		case c.dev == nil || c.lent:
		case c.kept:
			errs = append(errs, c.release(failed))
		default:
			handles = append(handles, c.dev)
			for _, o := range c.others {
				handles = append(handles, o.dev)
			}
			if c.stream != nil {
				errs = append(errs, c.closeStreams())
			}
		}
		c.failed = errors.Join(append(errs, c.first.leave(handles...))...)
		if !stays {
			c.unclosed.Stop()
		}
		close(c.ended)
	}()
}

// leave ends a queue, unless it has ended, and closes its own handles on devices and those of closed queues that are no longer in use.
// When no queue is left, what keeps a handle open is the program's, and leave returns the error that names it.
func (f *first) leave(own ...*hal.Device) error {
	// No other call knows these handles yet. So those that are not busy close here, and leave waits for what is freed with them.
	closed, _, failed := closeHandles(own)
	devices.mu.Lock()
	if f.open {
		f.open = false
		devices.queues--
	}
	last := devices.queues == 0
	devices.left = append(devices.left, slices.DeleteFunc(own, closed.has)...)
	left := slices.Clone(devices.left)
	devices.mu.Unlock()
	// Several calls may try a handle at once. None relies on the try of another, which may have come before the buffers of its own queue
	// were closed.
	closed, busy, err := closeHandles(left)
	devices.mu.Lock()
	defer devices.mu.Unlock()
	devices.left = slices.DeleteFunc(devices.left, closed.has)
	if last && devices.queues == 0 {
		err = errors.Join(err, busy)
	}
	return errors.Join(failed, err)
}

// handles is a set of handles on devices.
type handles map[*hal.Device]struct{}

func (h handles) has(d *hal.Device) bool {
	_, ok := h[d]
	return ok
}

// closeHandles closes handles on devices. busy says why the others are still open.
func closeHandles(list []*hal.Device) (closed handles, busy, err error) {
	closed = handles{}
	for _, d := range list {
		if e := d.Close(); errors.Is(e, hal.ErrBusy) {
			if named, ok := e.(*hal.Error); ok {
				named.Detail += "; what the program made without a queue, as by array.ReadNPY and buffer.From, has to be closed before the last queue"
			}
			busy = errors.Join(busy, e)
		} else {
			closed[d] = struct{}{}
			err = errors.Join(err, e)
		}
	}
	return closed, busy, err
}

// leaveLost is leave for a queue that is unreachable. Nobody is left to be told what keeps a handle open; package hal reports what is lost.
func (f *first) leaveLost() {
	go func() { _ = f.leave() }()
}

// Device returns the queue's device, the first if there are several, nil if Open could not open one.
func (q *Queue) Device() *hal.Device {
	if c := q.core(); c != nil {
		return c.dev
	}
	return nil
}

// Stream returns the queue's stream, on [Queue.Device], nil if Open could not make one. The program may enqueue work of its own on it.
func (q *Queue) Stream() *hal.Stream {
	if c := q.core(); c != nil {
		return c.stream
	}
	return nil
}

// String returns the device's name, "cuda:0", or those of several devices, "cuda:0+cuda:1", and says if the queue is closed.
func (q *Queue) String() string {
	d := q.Device()
	if d == nil {
		return "no device"
	}
	name := d.Name()
	for _, o := range q.c.others {
		name += "+" + o.dev.Name()
	}
	c := q.core()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		name += " (closed)"
	}
	return name
}

// Over returns the queue for one launch with at least n threads in each dimension, in place of the grid that the launcher takes from its
// data:
//
//	Blur(q.Over(width, height), image)
//
// The first number is for t.Global(0) of the kernel. With fewer numbers than the kernel uses dimensions, the launch fails.
func (q *Queue) Over(n ...int) *Queue { return q.Grid(hal.Over(n...)) }

// Grid returns the queue for launches with that grid, such as hal.Blocks(64).Of(256): 64 blocks of 256 threads.
func (q *Queue) Grid(grid hal.Grid) *Queue {
	of := &Queue{c: q.core(), grid: grid, set: true}
	if q != nil {
		of.step = q.step
	}
	return of
}

// Launching is called by generated launchers: see [github.com/go-halyard/halyard/kernel.Queue].
func (q *Queue) Launching(kernel string, over hal.Grid) (ctx context.Context, stream *hal.Stream, grid hal.Grid, ok bool) {
	c, op := q.core(), "launch"
	if q != nil && q.step != nil {
		op = recorded
	}
	if !c.begin(op) {
		return nil, nil, grid, false
	}
	if q.set {
		over = q.grid
	} else if layer.Dimensions(over) == 0 {
		c.keep(hal.Errorf("launch", hal.ErrInvalidArgument,
			"the data of kernel %s do not say how many threads it needs; begin it with a condition such as i < len(x), or launch it on "+
				"q.Over(n), with a number for each dimension; if it needs blocks of a certain size, on q.Grid(hal.Over(n).Of(size))", kernel))
		c.end()
		return nil, nil, grid, false
	}
	return c.ctx, c.stream, over, true
}

// On is called by generated launchers, too.
func (q *Queue) On() kernel.Target {
	switch {
	case q.core() == nil:
		return nil
	case q.step != nil:
		return q.step
	}
	return &q.c.on
}

// Launched is called by generated launchers, after a Launching whose ok was true.
func (q *Queue) Launched(err error) {
	if c := q.core(); c != nil {
		c.keep(err)
		c.end()
	}
}

// add makes the queue the owner of a buffer.
func (c *core) add(b owned) (id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	c.made[c.next] = b
	return c.next
}

// remove ends the ownership, and returns the buffer if it was not closed before.
func (c *core) remove(id uint64) owned {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.made[id]
	delete(c.made, id)
	return b
}

// lost closes a buffer that the program cannot reach any more.
func (c *core) lost(id uint64) {
	go func() {
		c.mu.Lock()
		b := c.made[id]
		if b == nil {
			c.mu.Unlock()
			return
		}
		c.calls++ // Close waits until the buffer has given back its memory
		c.mu.Unlock()
		defer c.end()
		if b.Close() == nil { // else something that is not a call on the queue uses it, and Close tries again
			c.remove(id)
		}
	}()
}
