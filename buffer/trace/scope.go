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
	Name string        // of the scope, after those that it is nested in: "training/epoch"
	Took time.Duration // that the scope was open

	Copies, BytesCopied       uint64
	Fills, BytesFilled        uint64 // ranges cleared because they were read before they were written
	Avoided, BytesAvoided     uint64 // ranges that were asked for where they were current
	Allocs, BytesAllocated    uint64 // replicas, the host's included
	Frees, BytesFreed         uint64
	Evictions, BytesEvicted   uint64
	Waits                     uint64
	Waited                    time.Duration // by all goroutines together
	Resident                  int64         // bytes that replicas take beyond what they took when the scope began
	PeakResident              int64         // the most that this has been; at least 0
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

// Push opens a scope, inside those that are open. What happens counts in every open scope, whichever goroutine it
// is in. BytesByCause in its counts has the bytes copied by the call that asked for them, such as "Acquire", and
// BytesByLink by the places, such as "host → cuda:0".
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

// Pop closes the scope and returns what happened in it. Scopes that were opened inside it stay open.
// Popping again returns the same.
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

// Counts returns what has happened in the scope so far.
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
