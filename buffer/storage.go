// How a buffer works, in one page.
//
// # What is tracked
//
// A buffer and its slices share one storage. It counts in bytes, and has a part for each of these questions:
//
//	which accesses are open, and which wait         queue.Queue         buffer/internal/queue
//	which places have the current bytes             protocol.Map        package protocol: it plans copies and records them
//	what has to end before the bytes may be used    order.Order         buffer/internal/order, one for each replica
//	how much memory the replicas on a device have   resident.Account    buffer/internal/resident, one for each device, of all buffers
//	what memory the host's replica has              hostmem.Memory      buffer/internal/hostmem
//	which bytes were lost by failures               storage.lost        copy.go
//	which access the next one may repeat            recent              fast.go
//
// The five packages are below this one, and know nothing of buffers. A place is the host or a device; it has one replica (replica.go).
// Bytes are current at a place if its replica has what was written last, else they are stale there. An access is one use of the bytes,
// from the beginning of the call to the end of the use.
//
// An order.Work is all work that was enqueued on one stream up to one point: a copy, or the program's work under a lease. A replica's
// Order has for each byte the Work that wrote it last and the Works that have read it since. The sources of a Work are the Works that
// wrote the bytes which it reads.
//
// # One Acquire, from Acquire to Release
//
// A single access begins with storage.begin (path.go); groups and Clone call its steps themselves. If nothing is
// new for the storage since an access of the same stream or of the host, no other access uses the buffer, and nothing has to be
// copied or waited for, it begins at once (fast.go). Otherwise begin takes these steps, with the storage locked except during waits:
//
//  1. admit makes an access of the request. It is open at once if no earlier access excludes it. Otherwise TryAcquire fails, and Acquire
//     waits until the last access that excludes it ends.
//  2. prepare makes the bytes current on the device. It repeats bring as long as bring finds something that a stream cannot wait for: then
//     the calling goroutine waits for it without the lock. If a device has no room, makeRoom (evict.go) evicts replicas of other buffers.
//     If that is not enough, the access ends, request.again waits for leases of other calls, and the steps begin again.
//     bring takes these steps once, without waiting. place finds the device's replica, or allocates one. decide finds out which work has
//     failed by now, fails if bytes are lost, and plans copies with protocol.Map; cost (replica.go) says from which place to copy. move
//     (copy.go) makes the streams of the copies wait for the Works that they depend on, enqueues each copy, records it as a Work and
//     applies it to protocol.Map. At last orderWork makes the access's own stream wait.
//  3. commit makes the bytes that the access writes stale at the other places. Written bytes are no longer lost. prepare ends with commit,
//     unless the caller commits (request.reserve): a group does so when all of its accesses are prepared.
//
// The program then enqueues its work. Lease.Release calls storage.release (lease.go), which records the program's work as a Work and ends
// the access. AcquireAll (group.go) does each step for all of its storages before the next, and records its work as one Work. For a launch
// on several devices, cover (group.go) begins one access that only excludes others. The accesses of the devices are parts of it
// (request.under), so they do not wait for it.
//
// # One View
//
// Buffer.View comes to storage.begin, too. The steps are the same, but the access has no stream. So orderWork returns the Works on the
// bytes, the calling goroutine waits for them, and makeReady clears bytes that were never written. Then View runs its function without the
// lock, and leave ends the access. The access needs no Work, because all that it did has ended.
//
// # How a failure is found
//
// No callback reports failed work. Work.Ended asks the driver whether a Work and its sources have ended. If one of the sources has failed,
// the Work has failed too. learn (copy.go) calls Ended of the Works that wrote a range, by Order.Failed. What a failed Work wrote is stale
// at its place, all of it. If it is then current nowhere, it is lost until it is written again; a copy of it that is still under way does
// not count (learnDoomed). The access that finds the failure fails if bytes that it reads were current at the place of the failed Work,
// even if another place has them too. Every later access that reads lost bytes fails as well. If the bytes are current at the access's
// place, it asks only the Works there, else those of all places. failedError makes the error. decide calls learn before it plans copies. An
// awaited access waits for the Works and calls learn once more, in makeReady.
//
// # How a replica leaves
//
// evict (evict.go) copies the bytes that are current at no other place. currentElsewhere finds out whether all bytes are known to be
// current elsewhere. If so, the memory is freed. If that is not known yet, a device's replica is leaving: Buffer.State leaves it out, its
// memory stays, and watchLeaving looks again when the copies have ended. Then the memory is freed, or the replica stays if a copy has
// failed. An access at its place makes it stay, too. The host's replica is never leaving: Evict waits until its bytes are current
// elsewhere.
//
// # Where a rule stands
//
//	which modes there are, and which are refused    package coherence; validMode (errors.go), Action and actionNames of internal/protocol
//	what each mode copies and makes stale           the table of internal/protocol (state.go)
//	which accesses exclude each other               Reads and Writes of queue.Part, and excluding (internal/queue)
//	which mode several wants of the same bytes get  same, merged, hull and following (want.go)
//	from which place to copy                        cost (replica.go); of equal ones the lowest: source and refuge (internal/protocol)
//	from which place Clone and CopyFrom copy        holdStill and deviceWith (contents.go), which do not ask cost
//	on which streams to copy                        route (copy.go)
//	in which order to copy                          protocol.Map.Plan: ascending by byte, in each range; in a group by storage
//	how much memory replicas on a device may have   Entry.count (internal/resident); room, hopeless and Exhausted of Pressure there
//
// # Locks, from the outermost to the innermost
//
//	group.mu        the calls on one Leases
//	storage.mu      everything of a buffer; a group locks its storages in the order of their numbers
//	Account.mu      the account of a device; its holder locks no storage
//	Work.mu         the state of a Work; a Work locks its sources, which are older
//	                then the locks of packages hal and hal/pool
//
// Whatever waits releases storage.mu for that time with storage.unlocked, and so does makeRoom, because making room locks other storages.
// After a wait every condition is checked again.
//
// Observers run with storage.mu held, and the functions of ReleaseChecked with a Work's lock. They must not use buffers: mutex.Lock panics
// there. A panic of an observer is kept until the call of the program ends, and goes on from there.

package buffer

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/buffer/internal/hostmem"
	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/queue"
	"github.com/go-halyard/halyard/buffer/internal/resident"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/callsite"
	"github.com/go-halyard/halyard/internal/layer/slot"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/span"
)

// packagePath distinguishes frames of this package from those of its callers.
const packagePath = "github.com/go-halyard/halyard/buffer"

// storage is shared by a buffer and all its slices. It counts in bytes and does not know the elements' type.
type storage struct {
	id    uint64
	name  string // see WithName
	elem  uint64 // bytes per element
	bools bool   // an element contains a bool, so not every byte is valid
	size  uint64 // bytes

	alignment uint64      // alignment of adopted memory in bytes, 0 if it is enough for every element type
	homeOn    *hal.Device // the device of WithPinnedHost, or nil
	guarded   bool        // the host's replica is guarded, unless homeOn is set
	allocator []allocatorOn

	mu       mutex
	thrown   error // a callback has panicked with this during the call that has locked mu
	closed   bool
	gone     atomic.Bool // closed, for String
	frozen   int         // calls of Freeze that Unfreeze has not undone
	queue    queue.Queue[*access]
	accesses struct { // accesses that have ended, for reuse
		free  []*access
		spare *access // one more free access, which is reused first
		taken int     // number of accesses that have not ended
		gen   uint64  // number of accesses that have begun
	}
	m       protocol.Map // which places have the current bytes
	version int64        // writes so far
	host    hostReplica
	at      []*replica       // by place: at[0] is host.replica, the others are replicas of devices
	lost    span.Tree[error] // the bytes that failures have lost, each range with the reason (copy.go)
	first   [2]*replica      // the memory of at, as long as one device uses the buffer
	leaving int              // number of leaving replicas
	stats   Stats
	watcher slot.Watcher // nil for most buffers; with a watcher no access begins at once (fast.go)
	recent  recent       // the access that the next one may repeat

	scratch struct {
		plan, zeros []protocol.Transfer
		transfers   []transfer
		waits       []order.Wait
		left        []*order.Work // of MakeWait, until await has waited for them or the caller has released them
		ranges      []span.Range
	}
}

// allocatorOn is the choice of an allocator for one device.
type allocatorOn struct {
	dev *hal.Device
	a   pool.Allocator
}

// replica is the buffer's copy at one place, with the work that later accesses there wait for.
type replica struct {
	storage *storage
	place   protocol.Place
	dev     *hal.Device // nil for the host
	resident.Memory
	order   order.Order
	adopted bool // the memory was adopted, and stays until the buffer is closed

	// The Entry says that the replica is leaving if its memory will be freed when the copies of its bytes to other places are known to have
	// succeeded. An access at the place makes the replica stay. The host's replica has no account.
	resident.Entry
	parting chan struct{} // closed when the replica stays or has been freed; nil if no goroutine waits for that
}

// hostReplica is the replica at the host, which devices that share host memory use in place.
type hostReplica struct {
	replica
	hostMemory
}

type hostMemory = hostmem.Memory

// recent is the last access of a device. If the next access repeats it, that access begins at once (fast.go).
type recent struct {
	replica *replica // nil if no device has used the buffer, or if the replica has lost its memory or is leaving since
	stream  *hal.Stream
	mem     *hal.Memory // as access.mem
}

// access is one use of a buffer's bytes by the program, from the beginning of the call to the end of the use: a lease, a function on the
// host, a copy. It waits until no earlier access excludes it; then it is open.
type access struct {
	queue.Entry[*access]

	// The fields that every access uses come first.
	ready   bool // the bytes are ready, and the program may use them
	awaited bool // of the host, or of a device for SyncTo: the bytes are there when begin returns, and no Work is recorded at its end
	place   protocol.Place
	storage *storage
	gen     uint64 // distinguishes a lease from later ones with the same access
	replica *replica
	stream  *hal.Stream   // nil on the host
	mem     *hal.Memory   // the memory of the lease
	own     *owner        // keeps the owner reachable, so that a buffer in use is not reported as leaked
	grouped bool          // it ends with the others of its group
	cause                 // the call, and the mode as in Part
	since   time.Duration // the time when the bytes were ready, counted from began; 0 if there is no observer

	brief    bool               // its call ends it (internal/resident/turn.go), not the program
	division *resident.Division // that it is a part of, or nil
	cover    resident.Division  // whose parts have this access as request.under
	givesUp  *resident.Turn     // its call ends it because it lacks memory for another access
	ahead    bool               // it takes memory although calls stand in line: it is the first of them, does not wait, or is part of a division

	awaitReaders bool  // begin also waits for work that reads the bytes
	counted      bool  // BytesAvoided includes this access
	copied       bool  // bytes were copied for it from another place
	bad          error // why bytes that it only reads have turned out bad, nil if they have not
	site         callsite.Site
	goroutine    uintptr // that began it, if site is set: see callsite.Here
}

// owner is referred to by every Buffer, lease and open access of a storage. When it becomes unreachable, the program can no longer close
// the storage.
type owner struct {
	cleanup runtime.Cleanup
	_       [1]byte
}

type (
	part       = queue.Part
	queueEntry = queue.Entry[*access]
)

// transfer is a transfer of a plan, with its streams: into writes the destination, from reads the source. They are the same stream, except
// for a copy between devices that cannot access each other's memory.
type transfer struct {
	protocol.Transfer
	dst, src   *replica // src is nil for zeros
	into, from *hal.Stream
	ordered    bool // the source is read in stream order
	detour     bool // To is the host, although the plan has another place: see route
}

// request describes an access that a call wants to begin.
type request struct {
	op     string
	own    *owner
	stream *hal.Stream // nil on the host
	part
	parts        []part  // as queue.Entry.Parts; not nil but of length 0 for several ranges that are all empty
	try          bool    // fail at once instead of waiting
	reserve      bool    // leave storage.commit to the caller
	awaited      bool    // begin waits until the device has the bytes, because the caller uses them without the stream
	awaitReaders bool    // begin also waits for work that reads the bytes; only for an awaited access or one of the host
	under        *access // the access that this one is a part of, or nil

	brief    bool               // as in access
	division *resident.Division // as in access
	turn     *resident.Turn     // in the line for memory, or nil
}

// cause is the call for which a buffer does something, and the reason.
type cause struct {
	op     string
	action protocol.Action
	client uint64 // number of the buffer that needs room, 0 if the reason is not room
	why    string
}

// whole returns a part that covers the whole buffer.
func (s *storage) whole(mode protocol.Action) part { return part{Lo: 0, Hi: s.size, Mode: mode} }

// called returns what errors call the buffer.
func (s *storage) called() string {
	if s.name == "" {
		return "the buffer"
	}
	return fmt.Sprintf("buffer %q", s.name)
}

// inName returns how errors about elements end: with the name of the buffer if it has one.
func (s *storage) inName() string {
	if s.name == "" {
		return ""
	}
	return fmt.Sprintf(" in buffer %q", s.name)
}

func (s *storage) closedError(op string) error {
	return hal.Errorf(op, hal.ErrClosed, "%s is closed", s.called())
}

// placeName returns the name of a place for errors. If stream is not nil, it is the name of the stream's device.
func (s *storage) placeName(p protocol.Place, stream *hal.Stream) string {
	switch {
	case stream != nil:
		return stream.Device().Name()
	case int(p) >= len(s.at):
		return "host"
	}
	return deviceName(s.at[p].dev)
}

// placeNames lists places as "host, cuda:1".
func (s *storage) placeNames(set protocol.Set) string {
	var names []string
	for p := range set.All() {
		names = append(names, s.placeName(p, nil))
	}
	return strings.Join(names, ", ")
}

func deviceName(dev *hal.Device) string {
	if dev == nil {
		return "host"
	}
	return dev.Name()
}

// replicaOf returns the replica of a device, with or without memory, or nil.
func (s *storage) replicaOf(dev *hal.Device) *replica {
	for _, r := range s.at[1:] {
		if r.dev == dev || r.dev.Same(dev) {
			return r
		}
	}
	return nil
}

// replicaOn returns the replica that a device uses, nil if it has none. For a nil device it returns the host's replica.
func (s *storage) replicaOn(dev *hal.Device) *replica {
	h := &s.host
	if dev == nil {
		return &h.replica
	}
	if r := s.replicaOf(dev); r != nil {
		return r
	}
	if h.On(dev) != nil {
		return &h.replica
	}
	return nil
}

// stay keeps a replica that was leaving.
func (r *replica) stay() {
	r.storage.leaving--
	r.Stay()
	r.endParting()
}

// endParting wakes the goroutines that wait until a leaving replica has been freed or stays.
func (r *replica) endParting() {
	if r.parting != nil {
		close(r.parting)
		r.parting = nil
	}
}

// updateSole records whether bytes are current only at r. If the state has more than one interval, it changes nothing.
func (r *replica) updateSole() {
	if s := r.storage; s.m.Len() == 1 {
		r.SetSole(s.m.Sole(0, s.size, r.place))
	}
}

// updateSoles does that for every replica, after one of them has lost bytes.
func (s *storage) updateSoles() {
	for _, r := range s.at[1:] {
		r.updateSole()
	}
}

// forgetRecent forgets the last access of a device if it used a replica that has lost its memory, or is leaving: then the next access does
// not repeat it.
func (s *storage) forgetRecent(r *replica) {
	if s.recent.replica == r {
		s.recent = recent{}
	}
}

// standIn returns an access for a call that begins none, such as Evict: it is compared with the accesses in the queue, and named in errors.
func (s *storage) standIn(op string, p part) *access {
	x := &access{storage: s, cause: cause{op: op, action: p.Mode}}
	x.Part, x.Of = p, x
	return x
}

// of reports whether the access still belongs to a lease. If not, the lease is stale.
func (x *access) of(gen uint64) bool { return x.IsOpen() && x.gen == gen }

// device returns the device of an access, nil for the host.
func (x *access) device() *hal.Device {
	if x.stream == nil {
		return nil
	}
	return x.stream.Device()
}

// unlocked runs fn without the lock.
func (s *storage) unlocked(fn func()) {
	thrown := s.unlockFirst() // the caller's call raises it
	defer func() {
		s.mu.Lock()
		if thrown != nil {
			s.thrown = thrown
		}
	}()
	fn()
}

// callbacks is the number of functions of the program that run now although a storage is locked: observers, and functions of
// ReleaseChecked.
var callbacks atomic.Int32

// callback runs such a function. The state is half changed meanwhile, so a panic does not go on from here: it is returned as an error. So
// that a function which ends its goroutine does not end the caller's, it has one of its own.
func callback(fn func()) (thrown error) {
	ended := make(chan error)
	go calledBack(fn, ended)
	return <-ended
}

// calledBack has a name that refuseCallbacks finds on the stack.
func calledBack(fn func(), ended chan<- error) {
	callbacks.Add(1)
	thrown := error(&panicked{"it ended its goroutine", nil})
	defer func() {
		callbacks.Add(-1)
		if p := recover(); p != nil {
			thrown = &panicked{p, debug.Stack()}
		}
		ended <- thrown
	}()
	fn()
	thrown = nil
}

// panicked is a panic in a callback.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string {
	return fmt.Sprintf("%v\n\nin a function that package buffer called:\n%s", p.value, p.stack)
}

func (p *panicked) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// guarded makes the check of a ReleaseChecked a callback. If it panics, the elements are lost.
func guarded(check func() error) func() error {
	return func() (err error) {
		if thrown := callback(func() { err = check() }); thrown != nil {
			return &hal.Error{Op: "Release", Device: -1, Kind: hal.ErrInvalidArgument, Err: thrown,
				Detail: "the function of ReleaseChecked panicked"}
		}
		return err
	}
}

// mutex is a lock during which callbacks may run. A callback that uses a buffer could wait for itself, so Lock panics there. The compiler
// does not inline Lock and unlock, so begin, release and leave, which every access calls, have their statements.
type mutex struct{ sync.Mutex }

func (m *mutex) Lock() {
	refuseCallbacks()
	m.Mutex.Lock()
}

// refuseCallbacks panics if the caller is within a callback.
func refuseCallbacks() {
	if callbacks.Load() != 0 {
		lookForCallback()
	}
}

func lookForCallback() {
	var pcs [64]uintptr
	for skip := 0; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		frames := runtime.CallersFrames(pcs[:n])
		for more := n > 0; more; {
			var f runtime.Frame
			if f, more = frames.Next(); f.Function == packagePath+".calledBack" {
				panic("buffer: observers and functions of ReleaseChecked run with a buffer locked, and must not use buffers")
			}
		}
		if n < len(pcs) {
			return
		}
	}
}

// unlock unlocks the storage at the end of a call of the program. If a callback has panicked during the call, unlock panics.
func (s *storage) unlock() {
	if s.thrown != nil { // a store costs more here than this test
		raise(s.unlockFirst())
	}
	s.mu.Unlock()
}

// unlockFirst is unlock for callers that have something to do before they pass the result to raise.
func (s *storage) unlockFirst() (thrown error) {
	thrown, s.thrown = s.thrown, nil
	s.mu.Unlock()
	return thrown
}

func raise(thrown error) {
	if thrown != nil {
		panic(thrown)
	}
}

// observing says whether there is an observer.
var observing atomic.Bool

// began is the time from which access.since counts. It is earlier than every access, even if the clock has not advanced since,
// because a since of 0 means that there is no observer.
var began = time.Now().Add(-time.Nanosecond)

// now returns the time if there is an observer, else the zero time.
func now() time.Time {
	if !observing.Load() {
		return time.Time{}
	}
	return time.Now()
}

// Stats counts the copies and fills of a buffer since it was made.
type Stats struct {
	Copies      uint64 // copies between places
	BytesCopied uint64
	Fills       uint64 // ranges cleared because they were read before they were written
	BytesFilled uint64
	// BytesRelocated counts bytes of the host's replica that were copied into memory that a unified
	// device can use in place. That happens at most once, at the first access of such a device.
	BytesRelocated uint64
	BytesAvoided   uint64 // bytes of accesses that were already current at their place
}

// Sub returns the difference of two counts: the copies and fills since earlier.
func (s Stats) Sub(earlier Stats) Stats {
	return Stats{
		Copies: s.Copies - earlier.Copies, BytesCopied: s.BytesCopied - earlier.BytesCopied,
		Fills: s.Fills - earlier.Fills, BytesFilled: s.BytesFilled - earlier.BytesFilled,
		BytesRelocated: s.BytesRelocated - earlier.BytesRelocated, BytesAvoided: s.BytesAvoided - earlier.BytesAvoided,
	}
}

var totals struct{ copies, bytesCopied, fills, bytesFilled atomic.Uint64 }

// Totals returns the counters of all buffers together, since the program began. BytesRelocated and BytesAvoided are counted only for each
// buffer, and are 0 here.
func Totals() Stats {
	return Stats{
		Copies: totals.copies.Load(), BytesCopied: totals.bytesCopied.Load(),
		Fills: totals.fills.Load(), BytesFilled: totals.bytesFilled.Load(),
	}
}
