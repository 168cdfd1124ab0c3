package dl

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/ebitengine/purego"

	"github.com/go-halyard/halyard/hal/driver"
)

// CallbackArgs are the integer arguments with which C called back, in order. Elements beyond the number of the entry's arguments are zero.
type CallbackArgs [4]uintptr

// Callbacks lets C call Go functions through one static entry. A process can have only about two thousand entries and cannot free one, so
// there is one Callbacks for each purpose, kept for the life of the program; the id that C passes as user data says which function to call.
//
// An id is valid for one call. A call with an id that was used or removed does
// nothing, even after the id's slot has been reused for another function.
type Callbacks struct {
	entry uintptr

	mu    sync.Mutex
	slots []slot
	free  []uint
}

type slot struct {
	generation uint
	fn         func(CallbackArgs)
}

const halfWord = bits.UintSize / 2

// NewCallbacks makes an entry that takes args integer arguments (1 to 4); the one at index data is the user data. It panics if a number is
// out of range, since both are constants of the program.
func NewCallbacks(args, data int) *Callbacks {
	if args < 1 || args > len(CallbackArgs{}) || data < 0 || data >= args {
		panic(fmt.Sprintf("dl: invalid callback: 1 to 4 arguments are supported, and index %d of the user data must be below their number",
			data))
	}
	c := &Callbacks{}
	c.entry = NewFunction(func(a CallbackArgs) {
		clear(a[args:]) // C has not passed them
		if fn := c.take(a[data]); fn != nil {
			fn(a)
		}
	})
	return c
}

// NewFunction makes a C function of up to four integer arguments that calls fn, for the life of the program: a process can have only about
// two thousand. Elements of the arguments that C does not pass are undefined. NewFunction is for calls from C that pass no user data. The
// rules for functions of [Callbacks.Add] hold for fn too.
func NewFunction(fn func(CallbackArgs)) uintptr {
	return purego.NewCallback(func(a, b, d, e uintptr) uintptr {
		fn(CallbackArgs{a, b, d, e})
		return 0
	})
}

// Entry returns the C function pointer to register with the vendor.
func (c *Callbacks) Entry() uintptr { return c.entry }

// Add returns the id to pass as user data: the next call of the entry with that id runs fn once. fn runs on the thread that called back,
// possibly inside the very call that registered it: it must not block, must not call the vendor and must not take a lock that is held
// around vendor calls. The error is of kind [driver.ErrOutOfMemory] when all ids are taken.
func (c *Callbacks) Add(fn func(CallbackArgs)) (id uintptr, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var i uint
	if n := len(c.free); n > 0 {
		i, c.free = c.free[n-1], c.free[:n-1]
	} else {
		i = uint(len(c.slots))
		if i >= 1<<halfWord {
			return 0, &driver.Error{Op: "callback", Device: -1, Kind: driver.ErrOutOfMemory,
				Detail: fmt.Sprintf("%d callbacks are outstanding", i)}
		}
		c.slots = append(c.slots, slot{})
	}
	s := &c.slots[i]
	// Generation 0 is skipped, so that no id is zero.
	s.generation = max(1, (s.generation+1)&(1<<halfWord-1))
	s.fn = fn
	return uintptr(s.generation<<halfWord | i), nil
}

// Remove forgets an id whose registration failed or whose call no longer matters. It reports whether it has prevented a call: false means
// that the function was called already, or that the id was removed before.
func (c *Callbacks) Remove(id uintptr) bool { return c.take(id) != nil }

// Outstanding returns the number of ids whose functions have not been called or removed.
func (c *Callbacks) Outstanding() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.slots) - len(c.free)
}

func (c *Callbacks) take(id uintptr) func(CallbackArgs) {
	i, generation := uint(id)&(1<<halfWord-1), uint(id)>>halfWord
	c.mu.Lock()
	defer c.mu.Unlock()
	if i >= uint(len(c.slots)) {
		return nil
	}
	s := &c.slots[i]
	if s.fn == nil || s.generation != generation {
		return nil
	}
	fn := s.fn
	s.fn = nil
	c.free = append(c.free, i)
	return fn
}
