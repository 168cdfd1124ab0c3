package adapt

import (
	"errors"
	"time"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// Replay is a log that can be run again, on any allocator, to compare how they fare.
type Replay struct {
	steps   []step
	blocks  int
	streams int
}

// step is a line of the log that does something. Blocks and streams are numbered from 0 on, -1 for no stream.
type step struct {
	free   bool
	kind   hal.Kind
	size   uint64
	block  int
	stream int
}

// NewReplay prepares the lines of a log; allocations that failed are left out. A log in which a block is freed
// that was not allocated, or allocated while it was live, is of kind hal.ErrInvalidArgument.
func NewReplay(lines []LogLine) (*Replay, error) {
	const op = "replay"
	r := &Replay{}
	live, streams := map[uint64]int{}, map[uint64]int{0: -1}
	for i, l := range lines {
		if l.Action == ActionFailure {
			continue
		}
		stream, known := streams[l.Stream]
		if !known {
			stream = r.streams
			streams[l.Stream] = stream
			r.streams++
		}
		block, there := live[l.Pointer]
		if there != (l.Action == ActionFree) {
			return nil, hal.Errorf(op, hal.ErrInvalidArgument, "line %d of the log: %v of %#x, which is live: %t", i+2, l.Action, l.Pointer, there)
		}
		if there {
			delete(live, l.Pointer)
		} else {
			block = r.blocks
			live[l.Pointer] = block
			r.blocks++
		}
		r.steps = append(r.steps, step{there, l.Kind, l.Size, block, stream})
	}
	return r, nil
}

// Streams is how many streams the log names.
func (r *Replay) Streams() int { return r.streams }

// Steps is how many allocations and frees are replayed.
func (r *Replay) Steps() int { return len(r.steps) }

// Replayed is what came of a replay.
type Replayed struct {
	Allocs, Frees int
	Failures      int           // allocations that failed with ErrOutOfMemory this time
	Took          time.Duration // for the whole log
	Peak          uint64        // the most bytes live at once
}

// Run does what the log says on an allocator, on the calling goroutine, with a stream for each that the log
// names. Blocks that the log leaves live are freed at the end. Too few streams are of kind
// hal.ErrInvalidArgument; an error other than ErrOutOfMemory ends the run.
func (r *Replay) Run(a pool.Allocator, streams []*hal.Stream) (Replayed, error) {
	var done Replayed
	if len(streams) < r.streams {
		return done, hal.Errorf("replay", hal.ErrInvalidArgument, "%d streams; the log names %d", len(streams), r.streams)
	}
	blocks := make([]pool.Block, r.blocks)
	last := make([]*hal.Stream, r.blocks)
	var live uint64
	var failed error
	start := time.Now()
	for _, s := range r.steps {
		var stream *hal.Stream
		if s.stream >= 0 {
			stream = streams[s.stream]
		}
		b := &blocks[s.block]
		if s.free {
			if !b.Valid() {
				continue
			}
			if failed = b.Free(stream); failed != nil {
				break
			}
			done.Frees++
			live -= s.size
			continue
		}
		var err error
		if *b, err = a.Alloc(stream, s.kind, s.size); err != nil {
			if !errors.Is(err, hal.ErrOutOfMemory) {
				failed = err
				break
			}
			done.Failures++
			continue
		}
		last[s.block] = stream
		done.Allocs++
		live += s.size
		done.Peak = max(done.Peak, live)
	}
	done.Took = time.Since(start)
	for i, b := range blocks {
		if b.Valid() {
			failed = errors.Join(failed, b.Free(last[i]))
		}
	}
	return done, failed
}
