//go:build vulkan

package vulkan

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// queue is a VkQueue of a device. Each stream uses one queue. If there are more streams than queues, streams share a queue.
//
// What is submitted is numbered, and a timeline semaphore counts what is done: it has the value n when the submissions up to number n
// have ended. Each submission ends with a barrier before everything behind it, so the queue does its work in order. So a number
// marks a point in the work of all streams of the queue. Streams of one queue need not wait for each other: submission order is execution
// order. To wait for a stream of another queue, a submission without commands waits on the device for that queue's semaphore.
//
// A submission never waits for anything but earlier ones: work behind a gate, or behind a copy that the host makes, stays with its
// stream until its turn has come (stream.go). So no stream holds up another for ever.
type queue struct {
	dev       *logical
	index     int // among the device's queues
	handle    uintptr
	semaphore uintptr

	last atomic.Uint64 // number of the last submission; it changes with mu held
	done atomic.Uint64 // the semaphore's value, as far as it is known; if the device is lost, everything counts as done

	mu       sync.Mutex
	pool     uintptr
	busy     fifo[commands] // submitted and not known to be done
	idle     []uintptr      // command buffers; at most keptCommands
	args     *submitArgs
	calls    *dl.Chain  // of the submission that has begun
	gathered []dispatch // the next submission begins with them
	watched  bool       // wake is going to be called
	wakes    func()     // q.wake, kept so that gathering does not allocate

	waits    sync.Mutex
	waiting  []waiter // in the order of their numbers
	targets  []uint64 // the numbers that goroutines wait for, at most one of each kind of wait
	watchers sync.WaitGroup
}

// commands is a command buffer that has been submitted.
type commands struct {
	buffer uintptr
	number uint64
}

// keptCommands is the number of command buffers that are kept for later. If more are in use, one in askEach submissions asks which are done.
// Not every submission does, because each question is a call of the driver.
const (
	keptCommands = 256
	askEach      = 16
)

// waiter is a function to call when a submission is done.
type waiter struct {
	number uint64
	call   func()
}

// submitArgs are the structures that a submission needs. They are in one block of the heap and used again and again.
type submitArgs struct {
	another  commandBufferInfo
	begin    commandBufferBegin
	barrier  memoryBarrier
	submit   submitInfo
	timeline timelineSubmitInfo
	buffer   uintptr
	signal   uintptr
	number   uint64
	copies   [8]bufferCopy
	copying  bool // a call that is not made yet reads copies

	// For a submission without commands, which waits for another queue.
	follow     submitInfo
	following  timelineSubmitInfo
	waitStages uint32
	other      uintptr // its semaphore
	until      uint64
}

func newQueue(op string, d *logical, index int) (*queue, error) {
	q := &queue{dev: d, index: index, args: new(submitArgs), calls: new(dl.Chain)}
	q.wakes = q.wake
	q.handle = d.t.getQueue(d.handle, d.plan.family, uint32(index))
	pool := &commandPoolInfo{head: head{typeCommandPoolCreateInfo, nil}, flags: poolResetCommandBuffer, family: d.plan.family}
	var st status
	if q.pool, st = d.t.createCommandPool(d.handle, unsafe.Pointer(pool)); st < success {
		return nil, d.fail(op, "vkCreateCommandPool", st)
	}
	kind := &semaphoreType{head: head{typeSemaphoreType, nil}, kind: semaphoreTimeline}
	info := &semaphoreCreateInfo{head: head{typeSemaphoreCreateInfo, unsafe.Pointer(kind)}}
	if q.semaphore, st = d.t.createSemaphore(d.handle, unsafe.Pointer(info)); st < success {
		d.t.destroyCommandPool(d.handle, q.pool)
		return nil, d.fail(op, "vkCreateSemaphore", st)
	}
	a := q.args
	a.signal = q.semaphore
	a.another = commandBufferInfo{head: head{typeCommandBufferInfo, nil}, pool: q.pool, n: 1}
	a.begin = commandBufferBegin{head: head{typeCommandBufferBegin, nil}, flags: oneTimeSubmit}
	a.barrier = memoryBarrier{head: head{typeMemoryBarrier, nil}, src: accessMemory, dst: accessMemory | accessHost}
	a.timeline = timelineSubmitInfo{head: head{typeTimelineSubmitInfo, nil}, signals: 1, values: unsafe.Pointer(&a.number)}
	a.submit = submitInfo{head: head{typeSubmitInfo, unsafe.Pointer(&a.timeline)}, buffers: 1, bufferList: unsafe.Pointer(&a.buffer),
		signals: 1, signalled: unsafe.Pointer(&a.signal)}
	a.waitStages = stageAllCommands
	a.following = a.timeline
	a.following.waits, a.following.waitFor = 1, unsafe.Pointer(&a.until)
	a.follow = submitInfo{head: head{typeSubmitInfo, unsafe.Pointer(&a.following)}, waits: 1, waitOn: unsafe.Pointer(&a.other),
		waitStages: unsafe.Pointer(&a.waitStages), signals: 1, signalled: unsafe.Pointer(&a.signal)}
	return q, nil
}

func (q *queue) close() {
	t, d := q.dev.t, q.dev.handle
	t.destroySemaphore(d, q.semaphore)
	t.destroyCommandPool(d, q.pool) // and its command buffers
}

// submit submits the launches that have gathered, and behind them what record adds to the command buffer, if it is not nil. It returns the
// number of the submission. If it fails, nothing is submitted, and the launches stay. q.mu is held.
func (q *queue) submit(op string, record func(cb uintptr)) (uint64, error) {
	if err := q.dev.lost.Load(); err != nil {
		return 0, err
	}
	cb, err := q.take(op)
	if err != nil {
		return 0, err
	}
	q.args.copying = false
	q.dev.t.beginCommandBuffer(q.calls, cb, unsafe.Pointer(&q.args.begin))
	for _, x := range q.gathered {
		x.record(q, cb)
		q.order(cb)
	}
	if record != nil {
		record(cb)
		q.order(cb)
	}
	q.dev.t.endCommandBuffer(q.calls, cb)
	q.args.buffer = cb
	number, err := q.pass(op, &q.args.submit)
	if err != nil {
		q.idle = append(q.idle, cb)
		return 0, err
	}
	q.busy.add(commands{cb, number})
	for i, x := range q.gathered {
		x.submitted(q, number)
		q.gathered[i] = nil
	}
	q.gathered = q.gathered[:0]
	return number, nil
}

// order makes later commands, and the host, wait for earlier ones and see what they wrote.
func (q *queue) order(cb uintptr) {
	q.dev.t.barrier(q.calls, cb, stageAllCommands, stageAllCommands|stageHost, unsafe.Pointer(&q.args.barrier))
}

// copies returns room for the regions of copies. Later calls use the same room, so recorded calls that still read it are made first.
func (q *queue) copies() *[8]bufferCopy {
	if q.args.copying {
		q.calls.Pass()
	}
	q.args.copying = true
	return &q.args.copies
}

// pass makes the recorded calls and then the submission that info describes. It returns the number of the submission; q.mu is held.
func (q *queue) pass(op string, info *submitInfo) (uint64, error) {
	number := q.last.Load() + 1
	q.args.number = number
	q.dev.t.submit(q.calls, q.handle, unsafe.Pointer(info))
	if api, st := q.calls.Run(); api != "" {
		return 0, q.dev.fail(op, api, status(st))
	}
	q.last.Store(number)
	return number, nil
}

// followed makes later work of the queue wait on the device for a submission of another queue. It returns the number of the submission that
// waits.
func (q *queue) followed(op string, other *queue, number uint64) (uint64, error) {
	if err := other.push(op, number); err != nil {
		return 0, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.flush(op); err != nil {
		return 0, err
	}
	a := q.args
	a.other, a.until = other.semaphore, number
	return q.pass(op, &a.follow)
}

// take returns a command buffer that is not in use; q.mu is held.
func (q *queue) take(op string) (uintptr, error) {
	if n := q.busy.len(); len(q.idle) == 0 && n >= keptCommands && n%askEach == 0 {
		_, _ = q.reached(q.busy.first().number) // after an error no command buffer is free, and one more is made
	}
	// The buffer that was used last is taken first, because it is still in caches.
	for done := q.done.Load(); q.busy.len() > 0 && q.busy.first().number <= done; q.busy.drop() {
		if len(q.idle) < keptCommands {
			q.idle = append(q.idle, q.busy.first().buffer)
		} else {
			q.dev.t.freeCommandBuffer(q.dev.handle, q.pool, q.busy.first().buffer)
		}
	}
	if n := len(q.idle); n > 0 {
		cb := q.idle[n-1]
		q.idle = q.idle[:n-1]
		return cb, nil
	}
	cb, st := q.dev.t.allocateCommandBuffer(q.dev.handle, unsafe.Pointer(&q.args.another))
	if st < success {
		return 0, q.dev.fail(op, "vkAllocateCommandBuffers", st)
	}
	return cb, nil
}

// A submission costs more than the commands of a launch do. So while the device has enough to do, launches gather, and the next submission
// begins with them. Nothing waits for a launch that has gathered for ever:
//
//   - Whoever waits for it submits it: push stands before each wait of the host and of another queue. Who only asks submits it, too, once
//     the device has nothing else to do.
//   - So does the next submission, of whatever work, and the launch with which there are mostGathered.
//   - When the device has little left to do, wake submits what has gathered, so that work begins without being asked for.
//
// A launch that has gathered already has the number of the next submission. If that fails, the launches stay for the one after it.

const (
	mostGathered = 16
	enoughToDo   = 4 // submissions that are not done, from which on launches gather
)

// dispatch is a launch that is enqueued, as the queue sees it.
type dispatch interface {
	record(q *queue, cb uintptr)       // adds its commands; the queue is locked
	submitted(q *queue, number uint64) // ends the queue's use of it
}

// gather enqueues a launch, which belongs to the queue then, and returns the number of its submission. Only one that is brief shares a
// submission with later ones. If it fails, there is no effect.
func (q *queue) gather(op string, x dispatch, brief bool) (uint64, error) {
	if err := q.dev.lost.Load(); err != nil {
		return 0, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gathered = append(q.gathered, x)
	if brief && len(q.gathered) < mostGathered && q.occupied() {
		return q.last.Load() + 1, nil
	}
	if err := q.flush(op); err != nil {
		last := len(q.gathered) - 1
		q.gathered[last] = nil
		q.gathered = q.gathered[:last]
		return 0, err
	}
	return q.last.Load(), nil
}

// occupied reports whether the device has enough to do. wake is called then when it no longer has. q.mu is held.
func (q *queue) occupied() bool {
	if last := q.last.Load(); !q.watched && last >= q.done.Load()+enoughToDo {
		q.watched = q.after(last-enoughToDo+1, q.wakes)
	}
	return q.watched
}

// wake submits what has gathered, unless the device has enough to do again.
func (q *queue) wake() {
	q.mu.Lock()
	q.watched = false
	var err error
	if len(q.gathered) > 0 && !q.occupied() {
		err = q.flush("launch")
	}
	number := q.last.Load() + 1
	q.mu.Unlock()
	if err != nil {
		q.after(number, func() {}) // which tries again until it can be submitted
	}
}

// asked is reached for a program that asks whether work is done.
func (q *queue) asked(number uint64) (done bool, err error) {
	if done, err = q.reached(number); !done && err == nil && q.done.Load() >= q.last.Load() {
		err = q.push("query", number)
	}
	return done, err
}

// push submits the launches that have gathered, if a number stands for them.
func (q *queue) push(op string, number uint64) error {
	if err := q.dev.lost.Load(); err != nil {
		return err
	}
	if number <= q.last.Load() {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.flush(op)
}

// flush submits the launches that have gathered. It fails if the device is lost, also if there are none. q.mu is held.
func (q *queue) flush(op string) error {
	if len(q.gathered) == 0 {
		if err := q.dev.lost.Load(); err != nil {
			return err
		}
		return nil
	}
	_, err := q.submit(op, nil)
	return err
}

// reached reports whether the submissions up to a number are done. If the device is lost they are, with an error; another error is
// one of the question itself.
func (q *queue) reached(number uint64) (bool, error) {
	if number <= q.done.Load() {
		return true, nil
	}
	if err := q.dev.lost.Load(); err != nil {
		return true, err
	}
	value, st := q.dev.t.semaphoreValue(q.dev.handle, q.semaphore)
	if st < success {
		err := q.dev.fail("query", "vkGetSemaphoreCounterValue", st)
		return st == deviceLost, err
	}
	value = min(value, q.last.Load()) // what has gathered is not done, whatever the driver says
	raise(&q.done, value)
	return number <= value, nil
}

// raise makes a number at least as large as another.
func raise(number *atomic.Uint64, to uint64) {
	for {
		old := number.Load()
		if to <= old || number.CompareAndSwap(old, to) {
			return
		}
	}
}

// waitArgs are the structures of a wait.
type waitArgs struct {
	info      semaphoreWaitInfo
	semaphore uintptr
	number    uint64
}

var waitPool = sync.Pool{New: func() any {
	a := new(waitArgs)
	a.info = semaphoreWaitInfo{head: head{typeSemaphoreWaitInfo, nil}, n: 1,
		semaphores: unsafe.Pointer(&a.semaphore), values: unsafe.Pointer(&a.number)}
	return a
}}

// longWait is how long one call waits, in nanoseconds. No call ever waits that long, and drivers do not take the number for a
// negative time.
const longWait = 1 << 60

// wait blocks until the submissions up to a number are done.
func (q *queue) wait(op string, number uint64) error {
	if number > q.done.Load() {
		if err := q.push(op, number); err != nil || q.soon(number) {
			return err
		}
	}
	return q.sleep(op, number)
}

// sleep is wait by the driver's wait alone.
func (q *queue) sleep(op string, number uint64) error {
	for number > q.done.Load() {
		if err := q.push(op, number); err != nil {
			return err
		}
		a := waitPool.Get().(*waitArgs)
		a.semaphore, a.number = q.semaphore, number
		st := q.dev.t.waitSemaphores(q.dev.handle, unsafe.Pointer(&a.info), longWait)
		waitPool.Put(a)
		switch {
		case st == success:
			raise(&q.done, number)
		case st != timeout:
			return q.dev.fail(op, "vkWaitSemaphores", st)
		}
	}
	return nil
}

// eager is how long one wait of a device asks whether the work is done, before it sleeps in the driver's wait.
const eager = 100 * time.Microsecond

// soon polls for a short time whether the submissions up to a number are done, because waking from the driver's wait takes longer than short
// work. Only one wait of a device polls at a time, so that waits keep at most one processor busy. It does not poll if the device is made of the
// host's processors, which have the work itself to do.
func (q *queue) soon(number uint64) bool {
	d := q.dev
	if d.info.Class == driver.ClassCPU || !d.eager.TryLock() {
		return false
	}
	defer d.eager.Unlock()
	for start := time.Now(); time.Since(start) < eager; runtime.Gosched() {
		if done, err := q.reached(number); done || err != nil {
			return done && err == nil
		}
	}
	return false
}

// after arranges for a function, which must not block, to be called when the submissions up to a number are done or the device is lost. If
// they are done already, it returns false, and the function is not called.
//
// One goroutine waits for the lowest number. When it wakes, the other numbers mostly are done; it waits again for those that are not. A new
// number that is lower than all these gets a goroutine of its own.
func (q *queue) after(number uint64, call func()) bool {
	if done, err := q.reached(number); done && (err == nil || q.dev.lost.Load() != nil) {
		return false
	}
	_ = q.push("wait", number) // if it fails, the goroutine tries again
	q.waits.Lock()
	defer q.waits.Unlock()
	at, _ := slices.BinarySearchFunc(q.waiting, number+1, func(w waiter, n uint64) int { return int(int64(w.number - n)) })
	q.waiting = slices.Insert(q.waiting, at, waiter{number, call})
	q.watchLowest()
	return true
}

// watchLowest starts a goroutine that waits for the lowest number, unless one waits for it or for a lower one; q.waits is held.
func (q *queue) watchLowest() {
	if len(q.waiting) == 0 {
		return
	}
	lowest := q.waiting[0].number
	if slices.ContainsFunc(q.targets, func(n uint64) bool { return n <= lowest }) {
		return
	}
	q.targets = append(q.targets, lowest)
	q.watchers.Add(1)
	go q.watch(lowest)
}

// retryAfter is how long a goroutine sleeps after a wait that failed, when memory was short for example. The work is not known to be
// done then, so it has to ask again. A device whose waits fail mostRetries times one after the other is taken for lost, so that nobody
// waits for it for ever.
const (
	retryAfter  = time.Millisecond
	mostRetries = 1000
)

func (q *queue) watch(number uint64) {
	defer q.watchers.Done()
	for retries := 0; q.sleep("wait", number) != nil && q.dev.lost.Load() == nil; retries++ {
		if retries == mostRetries {
			_ = q.dev.fail("wait", "vkWaitSemaphores", deviceLost)
			break
		}
		time.Sleep(retryAfter)
	}
	done := q.done.Load()
	if q.dev.lost.Load() != nil {
		done = ^uint64(0)
	}
	q.waits.Lock()
	n := 0
	for n < len(q.waiting) && q.waiting[n].number <= done {
		n++
	}
	ready := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	at := slices.Index(q.targets, number)
	q.targets = slices.Delete(q.targets, at, at+1)
	q.watchLowest()
	q.waits.Unlock()
	for _, w := range ready {
		w.call()
	}
}
