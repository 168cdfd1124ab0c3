package trace

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-halyard/halyard/buffer"
)

// Counts is what happened in a scope, to all buffers of the process. Sizes are in bytes.
type Counts struct {
	Name string        // name of the scope, after the names of the scopes around it: "training/epoch"
	Took time.Duration // how long the scope was open

	Copies, BytesCopied       uint64
	Fills, BytesFilled        uint64 // ranges cleared because they were read before they were written
	Avoided, BytesAvoided     uint64 // ranges that were current at the place of the access, so that nothing was copied
	Allocs, BytesAllocated    uint64 // replicas, including the host's
	Frees, BytesFreed         uint64
	Evictions, BytesEvicted   uint64
	Waits                     uint64
	Waited                    time.Duration // by all goroutines together
	Resident                  int64         // change of the bytes of all replicas since the scope began
	PeakResident              int64         // the largest value of Resident; at least 0
	BytesByCause, BytesByLink map[string]uint64
}

// Scope counts what happens between Push and Pop.
type Scope struct {
	stop  func()
	begun time.Time

	mu     sync.Mutex
	counts Counts
	popped bool
}

var open struct {
	sync.Mutex
	scopes []*Scope
}

// Push opens a scope inside all open scopes. Every open scope counts all events, of all goroutines.
// BytesByCause has the bytes copied, by the call that needed them, such as "Acquire";
// BytesByLink has them by the places, such as "host → cuda:0".
func Push(name string) *Scope {
	s := &Scope{begun: time.Now(), counts: Counts{Name: name, BytesByCause: map[string]uint64{}, BytesByLink: map[string]uint64{}}}
	open.Lock()
	defer open.Unlock()
	if n := len(open.scopes); n > 0 {
		s.counts.Name = open.scopes[n-1].counts.Name + "/" + name
	}
	open.scopes = append(open.scopes, s)
	s.stop = buffer.Observe(s.observe)
	return s
}

// Pop closes the scope and returns its counts. Scopes that were opened inside it stay open.
// Popping again returns the same counts.
func (s *Scope) Pop() Counts {
	open.Lock()
	open.scopes = slices.DeleteFunc(open.scopes, func(x *Scope) bool { return x == s })
	open.Unlock()
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.popped {
		s.popped = true
		s.counts.Took = time.Since(s.begun)
	}
	return s.counts.clone()
}

// Counts returns the counts of the scope so far.
func (s *Scope) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.popped {
		s.counts.Took = time.Since(s.begun)
	}
	return s.counts.clone()
}

func (c Counts) clone() Counts {
	c.BytesByCause, c.BytesByLink = maps.Clone(c.BytesByCause), maps.Clone(c.BytesByLink)
	return c
}

func (s *Scope) observe(e buffer.Activity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.popped {
		s.counts.add(e)
	}
}

func (c *Counts) add(e buffer.Activity) {
	n := e.Hi - e.Lo
	switch e.Kind {
	case buffer.ActivityCopy:
		c.Copies++
		c.BytesCopied += n
		c.BytesByCause[e.Cause] += n
		c.BytesByLink[e.From+" → "+e.To] += n
	case buffer.ActivityFill:
		c.Fills++
		c.BytesFilled += n
	case buffer.ActivityAvoided:
		c.Avoided++
		c.BytesAvoided += n
	case buffer.ActivityAlloc:
		c.Allocs++
		c.BytesAllocated += n
		c.Resident += int64(n)
		c.PeakResident = max(c.PeakResident, c.Resident)
	case buffer.ActivityFree:
		c.Frees++
		c.BytesFreed += n
		c.Resident -= int64(n)
	case buffer.ActivityEvict:
		c.Evictions++
		c.BytesEvicted += n
	case buffer.ActivityWait:
		c.Waits++
		c.Waited += e.Took
	}
}
