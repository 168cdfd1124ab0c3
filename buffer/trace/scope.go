package trace

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-halyard/halyard/buffer"
)

// Counts counts the events of all buffers of the process during a scope. Sizes are in bytes.
type Counts struct {
	Name string        // name of the scope, preceded by the names of the scopes around it: "training/epoch"
	Took time.Duration // how long the scope was open

	// Times counts the activities of each kind, and Bytes their bytes. A kind that did not occur has no entry.
	Times, Bytes map[buffer.ActivityKind]uint64

	// BytesByCause counts the copied bytes for each call that needed them, such as "Acquire". BytesByLink counts them for each pair of
	// places, such as "host → cuda:0".
	BytesByCause, BytesByLink map[string]uint64

	Waited       time.Duration // sum of the waits of all goroutines
	Resident     int64         // bytes by which all replicas together, including the host's, have grown since the scope began
	PeakResident int64         // the largest value of Resident; at least 0
}

func newCounts(name string) Counts {
	return Counts{Name: name, Times: map[buffer.ActivityKind]uint64{}, Bytes: map[buffer.ActivityKind]uint64{},
		BytesByCause: map[string]uint64{}, BytesByLink: map[string]uint64{}}
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

// Push opens a scope inside all open scopes. Every open scope counts all activities, of all goroutines.
func Push(name string) *Scope {
	s := &Scope{begun: time.Now(), counts: newCounts(name)}
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
	c.Times, c.Bytes = maps.Clone(c.Times), maps.Clone(c.Bytes)
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
	c.Times[e.Kind]++
	c.Bytes[e.Kind] += n
	switch e.Kind {
	case buffer.ActivityCopy:
		c.BytesByCause[e.Cause] += n
		c.BytesByLink[e.From+" → "+e.To] += n
	case buffer.ActivityAlloc:
		c.Resident += int64(n)
		c.PeakResident = max(c.PeakResident, c.Resident)
	case buffer.ActivityFree:
		c.Resident -= int64(n)
	case buffer.ActivityWait:
		c.Waited += e.Took
	}
}
