package memcopy

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// task is one range to copy, or to fill if src is nil.
type task struct {
	dst, src unsafe.Pointer
	n        uint64 // bytes
	word     uint64 // the pattern of a fill
	stream   bool   // Plan.Stream of the plan that is followed
	repeat   bool   // Plan.Repeat of it
}

// part copies or fills the n bytes at off, which is a multiple of 8.
func (t *task) part(off, n uint64) {
	if t.src == nil {
		fill(unsafe.Add(t.dst, off), n, t.word)
		return
	}
	if t.repeat {
		repeatMove(unsafe.Add(t.dst, off), unsafe.Add(t.src, off), n)
		return
	}
	if t.stream {
		streamMove(unsafe.Add(t.dst, off), unsafe.Add(t.src, off), n)
		return
	}
	move(unsafe.Add(t.dst, off), unsafe.Add(t.src, off), n)
}

// run copies or fills all of t: alone, or with as many helpers as the plan and the allowance permit.
func (p Plan) run(t task) {
	t.stream, t.repeat = p.Stream, p.Repeat
	workers := min(p.Workers, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for off := uint64(0); off < t.n; {
			n := min(p.Piece, t.n-off)
			t.part(off, n)
			off += n
		}
		return
	}
	j := newJob()
	j.task, j.piece = t, p.Piece
	j.pieces = (t.n-1)/p.Piece + 1
	j.next.Store(0)
	j.left.Store(int64(j.pieces))
	j.holders.Store(1)
	j.undone.Lock()
	for range workers - 1 {
		if !takeAllowance() {
			break
		}
		j.holders.Add(1)
		go j.help()
	}
	if !j.work() {
		j.undone.Lock()
	}
	j.undone.Unlock()
	j.release()
}

// job is a task that several goroutines do together. A helper that starts too late finds
// no piece left. The job is reused only when every helper has released it.
type job struct {
	task
	piece, pieces uint64
	next          atomic.Uint64 // first piece that nobody has taken
	left          atomic.Int64  // pieces that are not done
	holders       atomic.Int32
	undone        sync.Mutex // unlocked by a helper that does the last piece; not a channel, which would belong to a bubble of package synctest
	help          func()     // helpOnce, kept so that starting it does not allocate
}

// work takes and does pieces until none is left, and reports whether it completed the last outstanding piece.
func (j *job) work() (last bool) {
	for {
		i := j.next.Add(1) - 1
		if i >= j.pieces {
			return last
		}
		off := i * j.piece
		j.part(off, min(j.piece, j.n-off))
		last = j.left.Add(-1) == 0
	}
}

func (j *job) helpOnce() {
	if j.work() {
		j.undone.Unlock()
	}
	helpers.Add(-1)
	j.release()
}

// idleJobs keeps jobs for reuse; a sync.Pool would drop them at every collection.
var idleJobs struct {
	sync.Mutex
	jobs []*job
}

func newJob() *job {
	idleJobs.Lock()
	defer idleJobs.Unlock()
	if last := len(idleJobs.jobs) - 1; last >= 0 {
		j := idleJobs.jobs[last]
		idleJobs.jobs = idleJobs.jobs[:last]
		return j
	}
	j := &job{}
	j.help = j.helpOnce
	return j
}

func (j *job) release() {
	if j.holders.Add(-1) > 0 {
		return
	}
	j.task = task{}
	idleJobs.Lock()
	idleJobs.jobs = append(idleJobs.jobs, j)
	idleJobs.Unlock()
}

// helpers counts the helping goroutines of the process.
var helpers atomic.Int32

func takeAllowance() bool {
	if helpers.Add(1) < int32(runtime.GOMAXPROCS(0)) {
		return true
	}
	helpers.Add(-1)
	return false
}
