package commtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/go-halyard/halyard/internal/comm/bugs"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Option changes how a job behaves.
type Option func(*config)

type config struct {
	eager     uint64
	seed      uint64
	adversary bool
	stuck     int
	bug       bugs.Bug
	machine   int
}

// EagerLimit sets the length in bytes up to which messages are copied when they are sent, so that Isend is done at once. Longer ones stay in
// the sender's memory until a receive takes them. The default is 4096. With 0 only empty messages leave before they are received; with
// math.MaxUint64 all do.
func EagerLimit(n uint64) Option { return func(c *config) { c.eager = n } }

// Adversary delays and reorders, at random, whatever a library may delay and reorder: messages of different senders overtake each other, those
// of one sender arrive late, memory is read and written late, and finished requests are reported late. What happens depends on the seed, and
// also on the order in which goroutines run.
func Adversary(seed uint64) Option {
	return func(c *config) { c.adversary, c.seed = true, seed }
}

// Stuck ends all requests with an error of kind ErrTimeout once every rank that is still in the job has called Test n times without a result
// since anything last happened. It finds deadlocks without a clock. Do not set it for a program that polls more often than that on purpose.
func Stuck(n int) Option { return func(c *config) { c.stuck = n } }

// RanksPerMachine sets how many neighbouring ranks SplitShared puts on one machine. By default all ranks share one.
func RanksPerMachine(n int) Option { return func(c *config) { c.machine = n } }

// Job is a set of ranks that communicate.
type Job struct {
	mu      sync.Mutex
	changed *sync.Cond // a rank arrived at a meeting, was lost or left
	cfg     config
	rng     *rand.Rand
	engines []*engine
	groups  []*group
	moving  []*wire  // those with messages on them; only with an adversary
	due     []func() // transfers whose message and receive are matched, but which are not made yet; only with an adversary
	end     *driver.Error
	sent    int // messages so far
}

func init() {
	bugs.Broken = func(b bugs.Bug) any { return Option(func(c *config) { c.bug = b }) }
}

// New makes a job of n ranks, n > 0.
func New(n int, opts ...Option) *Job {
	if n < 1 {
		panic(fmt.Sprintf("commtest: a job of %d ranks; it needs at least one", n))
	}
	j := &Job{cfg: config{eager: 4096, machine: n}}
	j.changed = sync.NewCond(&j.mu)
	for _, o := range opts {
		o(&j.cfg)
	}
	j.cfg.machine = max(j.cfg.machine, 1)
	j.rng = rand.New(rand.NewPCG(j.cfg.seed, 1))
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	world := j.newGroup(all)
	for i := range n {
		e := &engine{job: j, rank: i, requests: map[driver.Request]*request{}}
		e.memory.twice = j.cfg.bug == bugs.GivesMemoryTwice
		e.world = &communicator{engine: e, group: world, rank: i}
		j.engines = append(j.engines, e)
	}
	return j
}

// Engine is the engine of one rank.
func (j *Job) Engine(rank int) driver.Engine { return j.engines[rank] }

// Lose takes a rank away, as if its process had died. From now on all its calls fail, and so do operations of other ranks that need it.
func (j *Job) Lose(rank int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.depart(rank, lost)
}

// Leftovers lists what ranks did not finish: messages that were not received, requests that were not tested until they were done,
// communicators and memory that were not freed. What a lost rank did not finish is not listed.
func (j *Job) Leftovers() (list []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, g := range j.groups {
		for _, w := range g.wires {
			for _, m := range w.queue {
				list = append(list, m.leftover(g))
			}
		}
		for _, q := range g.arrived {
			for _, m := range q {
				if j.engines[g.ranks[m.dest]].state != lost {
					list = append(list, m.leftover(g))
				}
			}
		}
	}
	for _, e := range j.engines {
		if e.state == lost {
			continue
		}
		for _, r := range e.requests {
			list = append(list, fmt.Sprintf("rank %d did not test %s until it was done", e.rank, r))
		}
		if n := e.comms; n > 0 {
			list = append(list, fmt.Sprintf("rank %d did not free %d communicators", e.rank, n))
		}
		for _, b := range e.memory.blocks {
			if b.used {
				list = append(list, fmt.Sprintf("rank %d did not free %d bytes", e.rank, b.size))
			}
		}
	}
	slices.Sort(list)
	return list
}

// Close frees the job's memory. No rank may be running.
func (j *Job) Close() {
	for _, e := range j.engines {
		e.memory.close()
	}
}

// Execute runs fn once for each rank of a new job, each on a goroutine of its own, and waits for all. A rank leaves the job when its fn
// returns; one that returns an error or panics aborts the job. The result joins the errors of all ranks. If no rank failed, it lists the
// leftovers, and is nil if there are none.
func Execute(n int, fn func(e driver.Engine) error, opts ...Option) error {
	j := New(n, opts...)
	defer j.Close()
	if err := j.Run(fn); err != nil {
		return err
	}
	var errs []error
	for _, s := range j.Leftovers() {
		errs = append(errs, errors.New(s))
	}
	return errors.Join(errs...)
}

// Run runs fn once for each rank, each on a goroutine of its own, and waits for all, as [Execute] does. A job is run once.
func (j *Job) Run(fn func(e driver.Engine) error) error {
	errs := make([]error, len(j.engines))
	var all sync.WaitGroup
	for i := range j.engines {
		all.Go(func() { j.run(i, fn, &errs[i]) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// run runs one rank. It sets *failed even if fn ends its goroutine.
func (j *Job) run(rank int, fn func(e driver.Engine) error, failed *error) {
	e := j.engines[rank]
	var err error
	returned := false
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		} else if !returned {
			err = errors.New("the function ended its goroutine (runtime.Goexit)")
		}
		if err != nil {
			err = fmt.Errorf("rank %d: %w", rank, err)
			e.world.Abort(1)
		}
		*failed = err
		_ = e.Close()
	}()
	err = fn(e)
	returned = true
}

// Run is [Execute] for a test, which fails with the error.
func Run(t testing.TB, n int, fn func(e driver.Engine) error, opts ...Option) {
	t.Helper()
	if err := Execute(n, fn, opts...); err != nil {
		t.Error(err)
	}
}

// state says whether a rank is still in its job.
type state uint8

const (
	running state = iota
	left
	lost
)

// alone returns the error of an operation that needs a rank which has left or was lost. peer is that rank's number in the group.
func (j *Job) alone(op string, g *group, peer int) *driver.Error {
	e := j.engines[g.ranks[peer]]
	how := "has left the job"
	if e.state == lost {
		how = "was lost"
	}
	err := driver.Errorf(op, driver.ErrRankLost, "rank %d %s", peer, how)
	err.Peer = peer
	return err
}

// depart takes a rank out of the job, and fails all requests that cannot be done without it. The job is locked.
func (j *Job) depart(rank int, how state) {
	e := j.engines[rank]
	if e.state != running {
		return
	}
	j.flush()
	e.state = how
	if j.cfg.bug != bugs.HidesLostRanks {
		for _, g := range j.groups {
			if me := slices.Index(g.ranks, rank); me >= 0 {
				g.without(me)
			}
		}
	}
	if how == lost {
		for _, r := range e.requests {
			r.fail(driver.Errorf(r.op, driver.ErrRankLost, "this rank was lost"))
		}
	}
	j.touch()
}

// abort ends the job. The job is locked.
func (j *Job) abort(err *driver.Error) {
	if j.end != nil {
		return
	}
	j.end = err
	for _, e := range j.engines {
		for _, r := range e.requests {
			r.fail(err)
		}
	}
	j.touch()
}

// touch notes that something happened.
func (j *Job) touch() {
	for _, e := range j.engines {
		e.vain = 0
	}
	j.changed.Broadcast()
}

// stuck ends the job if no rank can go on. The job is locked.
func (j *Job) stuck() {
	if j.cfg.stuck == 0 || j.end != nil {
		return
	}
	for _, e := range j.engines {
		if e.state == running && e.vain < j.cfg.stuck {
			return
		}
	}
	j.abort(driver.Errorf("Test", driver.ErrTimeout, "no rank can go on: each has called Test %d times since anything last happened", j.cfg.stuck))
}

// later runs f now, or at some later time if there is an adversary.
func (j *Job) later(f func()) {
	if j.cfg.adversary {
		j.due = append(j.due, f)
		return
	}
	f()
}

// step lets an adversary do some of what is due.
func (j *Job) step() {
	if !j.cfg.adversary {
		return
	}
	if n := len(j.moving); n > 0 && j.rng.IntN(3) > 0 {
		j.advance(j.rng.IntN(n))
	}
	if n := len(j.due); n > 0 && j.rng.IntN(3) > 0 {
		i := j.rng.IntN(n)
		f := j.due[i]
		j.due = slices.Delete(j.due, i, i+1)
		f()
		j.touch()
	}
}

// flush does all that is due.
func (j *Job) flush() {
	for len(j.moving) > 0 {
		j.advance(0)
	}
	for len(j.due) > 0 {
		f := j.due[0]
		j.due = j.due[1:]
		f()
	}
}

// advance lets the first message on a wire arrive.
func (j *Job) advance(i int) {
	w := j.moving[i]
	m := w.queue[0]
	w.queue = w.queue[1:]
	if len(w.queue) == 0 {
		j.moving = slices.Delete(j.moving, i, i+1)
	}
	w.group.arrive(m)
	j.touch()
}

const maxTag = math.MaxInt32
