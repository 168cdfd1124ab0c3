package adapt

import (
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// Replay is a log that can be run again on any allocator, to compare allocators.
type Replay struct {
	steps   []step
	blocks  int
	streams int
}

// step is an allocation or a free of the log. Blocks and streams are numbered from 0 on, -1 for no stream.
type step struct {
	free   bool
	kind   hal.Kind
	size   uint64
	block  int
	stream int
}

// ReadLog reads what an allocator of [Log] has written; allocations that failed, and blocks of 0 bytes, are left out. The error is of kind
// hal.ErrInvalidArgument, with the number of the line, for text that is not a log, and for a log in which a block is freed
// that is not live, or allocated while it is live.
func ReadLog(r io.Reader) (*Replay, error) {
	const op = "read log"
	in := csv.NewReader(r)
	in.FieldsPerRecord = strings.Count(logHeader, ",") + 1
	in.ReuseRecord = true
	first, err := in.Read()
	if err != nil || strings.Join(first, ",") != logHeader {
		return nil, &hal.Error{Op: op, Device: -1, Kind: hal.ErrInvalidArgument, Detail: "line 1 is not " + logHeader, Err: err}
	}
	log := reading{live: map[uint64]int{}, streams: map[uint64]int{0: -1}}
	for n := 2; ; n++ {
		f, err := in.Read()
		if err == io.EOF {
			return &log.Replay, nil
		}
		var l line
		if err == nil {
			l, err = parseLine(f)
		}
		if err == nil {
			err = log.add(l)
		}
		if err != nil {
			return nil, &hal.Error{Op: op, Device: -1, Kind: hal.ErrInvalidArgument, Detail: "line " + strconv.Itoa(n), Err: err}
		}
	}
}

// reading is a log that is being read.
type reading struct {
	Replay
	live    map[uint64]int // numbers of blocks, by address
	streams map[uint64]int // numbers of streams, by their numbers in the log
}

// add adds the step of a line.
func (r *reading) add(l line) error {
	if l.action == actionFailure || l.size == 0 {
		return nil
	}
	stream, known := r.streams[l.stream]
	if !known {
		stream = r.Replay.streams
		r.streams[l.stream] = stream
		r.Replay.streams++
	}
	block, there := r.live[l.pointer]
	if there != (l.action == actionFree) {
		state := map[bool]string{true: "is live already", false: "is not live"}[there]
		return hal.Errorf("replay", hal.ErrInvalidArgument, "%s of block %#x, which %s", l.action, l.pointer, state)
	}
	if there {
		delete(r.live, l.pointer)
	} else {
		block = r.blocks
		r.live[l.pointer] = block
		r.blocks++
	}
	r.steps = append(r.steps, step{there, l.kind, l.size, block, stream})
	return nil
}

// Streams is the number of streams in the log.
func (r *Replay) Streams() int { return r.streams }

// Run repeats the allocations and frees of the log on an allocator, on the calling goroutine. It uses the given streams in
// place of those in the log. It returns how many allocations failed with ErrOutOfMemory, and how long the whole log took. Blocks that the
// log leaves live are freed after that. If there are fewer streams than in the log the error is of kind hal.ErrInvalidArgument.
// An error of the allocator other than ErrOutOfMemory ends the run.
func (r *Replay) Run(a pool.Allocator, streams []*hal.Stream) (failures int, took time.Duration, err error) {
	if len(streams) < r.streams {
		return 0, 0, hal.Errorf("replay", hal.ErrInvalidArgument, "%d streams are too few; the log has %d", len(streams), r.streams)
	}
	blocks := make([]pool.Block, r.blocks)
	last := make([]*hal.Stream, r.blocks)
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
			continue
		}
		var err error
		if *b, err = a.Alloc(stream, s.kind, s.size); err != nil {
			if !errors.Is(err, hal.ErrOutOfMemory) {
				failed = err
				break
			}
			failures++
			continue
		}
		last[s.block] = stream
	}
	took = time.Since(start)
	for i, b := range blocks {
		if b.Valid() {
			failed = errors.Join(failed, b.Free(last[i]))
		}
	}
	return failures, took, failed
}
