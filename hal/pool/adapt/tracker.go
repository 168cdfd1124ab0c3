package adapt

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// profileName is documented in WithProfile.
const profileName = "halyard.memory"

var profile = sync.OnceValue(func() *pprof.Profile {
	if p := pprof.Lookup(profileName); p != nil {
		return p
	}
	return pprof.NewProfile(profileName)
})

// TrackOption is an option of [Track].
type TrackOption func(*Tracker)

// WithStacks records the calls that lead to each allocation, which costs about a microsecond.
func WithStacks() TrackOption { return func(t *Tracker) { t.stacks = true } }

// WithProfile adds live blocks to the profile "halyard.memory" of runtime/pprof, which counts the live blocks of
// every Tracker that has this option, by the calls that allocated them. Programs that serve net/http/pprof serve
// it too. It counts blocks, not bytes, which [Tracker.Live] has. The option includes [WithStacks].
func WithProfile() TrackOption { return func(t *Tracker) { t.stacks, t.profiled = true, true } }

// Tracker is an allocator that knows every live block that passed through it.
type Tracker struct {
	next             pool.Allocator
	stacks, profiled bool

	mu   sync.Mutex
	seq  uint64
	live map[pool.Block]*Tracked // the key is From(nil) of the block
}

// Tracked is a live block.
type Tracked struct {
	Kind  hal.Kind
	Bytes uint64    // asked for
	Since time.Time // of the allocation
	stack []uintptr
	seq   uint64
}

// Stack is the calls that led to the allocation, the innermost first, or nil if they were not recorded.
func (t Tracked) Stack() []runtime.Frame {
	if len(t.stack) == 0 {
		return nil
	}
	var list []runtime.Frame
	frames := runtime.CallersFrames(t.stack)
	for {
		f, more := frames.Next()
		list = append(list, f)
		if !more {
			return list
		}
	}
}

// String describes the block in one line. Each call of its stack adds a line for the function and one for the position.
func (t Tracked) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d bytes of %s memory", t.Bytes, t.Kind)
	for _, f := range t.Stack() {
		fmt.Fprintf(&b, "\n\t%s\n\t\t%s:%d", f.Function, f.File, f.Line)
	}
	return b.String()
}

// Track returns an allocator that remembers its live blocks. A nil option does nothing.
func Track(a pool.Allocator, opts ...TrackOption) *Tracker {
	t := &Tracker{next: a, live: map[pool.Block]*Tracked{}}
	for _, set := range opts {
		if set != nil {
			set(t)
		}
	}
	if t.profiled {
		profile()
	}
	return t
}

// Live lists the live blocks in the order of their allocation.
func (t *Tracker) Live() []Tracked {
	t.mu.Lock()
	list := make([]Tracked, 0, len(t.live))
	for _, x := range t.live {
		list = append(list, *x)
	}
	t.mu.Unlock()
	slices.SortFunc(list, func(a, b Tracked) int { return cmp.Compare(a.seq, b.seq) })
	return list
}

// Alloc implements [pool.Allocator].
func (t *Tracker) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	b, err := t.next.Alloc(stream, kind, size)
	if err != nil {
		return pool.Block{}, err
	}
	x := &Tracked{Kind: kind, Bytes: b.Size(), Since: time.Now()}
	if t.stacks {
		const deepest = 48
		var pcs [deepest]uintptr
		// The stack leaves out runtime.Callers and this method.
		x.stack = slices.Clone(pcs[:runtime.Callers(2, pcs[:])])
	}
	t.mu.Lock()
	x.seq = t.seq
	t.seq++
	t.live[b.From(nil)] = x
	t.mu.Unlock()
	if t.profiled {
		profile().Add(x, 1)
	}
	return b.From(t), nil
}

// Free implements [pool.Allocator].
func (t *Tracker) Free(b pool.Block, stream *hal.Stream) error {
	n := b.Size()
	err := t.next.Free(b, stream)
	if !ended(b, n, err) {
		return err
	}
	t.mu.Lock()
	id := b.From(nil)
	x := t.live[id]
	delete(t.live, id)
	t.mu.Unlock()
	if x != nil && t.profiled {
		profile().Remove(x)
	}
	return err
}
