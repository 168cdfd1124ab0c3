//go:build vulkan

package vulkan

import "time"

// A submission costs more than the commands of a launch do. So while the device has enough to do, launches are gathered, and the next
// submission begins with them. Each gathered launch is submitted at last, by the first of these:
//
//   - a wait of the host or of another queue for the launch: each wait calls push first. A question whether the launch is done (asked) submits
//     it, too, once the device has nothing else to do;
//   - the next submission of any other work, or the launch that makes them mostGathered;
//   - wake, which is called when the device has little left to do.
//
// The number of a gathered launch is that of the next submission. If that submission fails, the launches wait for the one after it.
//
// If a device works on one submission for seconds, operating systems take it for hung. So a launch is gathered only if a launch of the same
// pipeline, with as many blocks or more, has ended within briefTime of its submission.

const (
	mostGathered = 16
	enoughToDo   = 4 // the number of unfinished submissions from which on launches are gathered
	briefTime    = 10 * time.Millisecond
)

// launch enqueues a launch, which belongs to the queue then, and returns the number of its submission. If it fails, there is no effect.
func (q *queue) launch(op string, x *launch) (uint64, error) {
	if err := q.dev.lost.Load(); err != nil {
		return 0, err
	}
	p, blocks := x.p, uint64(x.grid[0])*uint64(x.grid[1])*uint64(x.grid[2])
	brief := blocks <= p.brief.Load()
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
	number := q.last.Load()
	if !brief && !p.timed.Swap(true) {
		start := time.Now()
		measured := func() {
			if time.Since(start) <= briefTime {
				raise(&p.brief, blocks)
			}
			p.timed.Store(false)
		}
		if !q.after(number, measured) {
			measured()
		}
	}
	return number, nil
}

// occupied reports whether the device has enough to do. If it has, wake will be called as soon as it no longer has. q.mu is held.
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

// asked is reached for a program that asks whether work is done. It may submit the work.
func (q *queue) asked(number uint64) (done bool, err error) {
	if done, err = q.reached(number); !done && err == nil && q.done.Load() >= q.last.Load() {
		err = q.push("query", number)
	}
	return done, err
}

// push submits the launches that have gathered, if the number is theirs.
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
