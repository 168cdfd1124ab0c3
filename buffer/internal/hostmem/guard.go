package hostmem

import (
	"errors"
	"slices"
	"sync"
	"syscall"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/pages"
)

// guard is memory that can be made inaccessible.
type guard struct {
	pages    []byte
	level    Level
	watching bool // TightenAgain will be called when work has ended
}

// Level says how guarded memory can be accessed.
type Level = pages.Access

const (
	Shut     = pages.None
	Readable = pages.Read
	Writable = pages.Write
)

// LevelOf is Writable for a write, else Readable.
func LevelOf(write bool) Level {
	if write {
		return Writable
	}
	return Readable
}

// newGuard allocates zeroed pages for n bytes from the system.
func newGuard(n uint64) (*guard, error) {
	memory, err := pages.Map(uint64(pages.Up(int(n))))
	if err == nil {
		if err = pages.Protect(memory, pages.Write); err != nil { // not on this system
			_ = pages.Unmap(memory)
		}
	}
	if err != nil {
		return nil, guardError(err)
	}
	return &guard{pages: memory, level: Writable}, nil
}

func guardError(err error) error {
	e := &hal.Error{Op: "host replica", Device: -1, Kind: hal.ErrDriver, Err: err, Detail: "guarded memory"}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		e.Kind = hal.ErrUnsupported
	case errors.Is(err, syscall.ENOMEM):
		e.Kind = hal.ErrOutOfMemory
	}
	return e
}

// Permit makes guarded memory accessible, until Tighten finds that no access and no work needs it.
func (m *Memory) Permit(write bool) error {
	g := m.guard
	if g == nil {
		return nil
	}
	if want := LevelOf(write); g.level < want {
		if err := pages.Protect(g.pages, want); err != nil {
			return guardError(err)
		}
		g.level = want
	}
	return nil
}

// Tightener has guarded memory, and calls Tighten.
type Tightener interface {
	// TightenAgain is called on another goroutine when work has ended that prevented Tighten from making the memory inaccessible. It locks
	// what has the memory, calls over, and calls Tighten if over returns true.
	TightenAgain(over func() bool)
}

// Tighten makes guarded memory as inaccessible as open accesses, which need the level want, and unfinished work allow. If the system
// refuses, the memory stays accessible.
func (m *Memory) Tighten(want Level, works *order.Order, t Tightener) {
	g := m.guard
	works.Works(func(w *order.Work, writes bool) {
		if done, _ := w.Ended(); !done {
			want = max(want, LevelOf(writes))
			m.tightenAfter(w, t)
		}
	})
	if want < g.level && pages.Protect(g.pages, want) == nil {
		g.level = want
	}
}

func (m *Memory) tightenAfter(w *order.Work, t Tightener) {
	g := m.guard
	if g.watching {
		return
	}
	g.watching = true
	w.OnEnd(func() {
		t.TightenAgain(func() bool {
			g.watching = false
			return m.guard == g
		})
	})
}

// retired are the pages of the guards that were dropped last. Their addresses stay reserved.
var retired struct {
	sync.Mutex
	list [][]byte
}

const mostRetired = 1000

// retire frees the memory and keeps the addresses reserved.
func retire(memory []byte) {
	pages.Discard(memory)
	retired.Lock()
	defer retired.Unlock()
	if retired.list = append(retired.list, memory); len(retired.list) > mostRetired {
		_ = pages.Unmap(retired.list[0])
		retired.list = slices.Delete(retired.list, 0, 1)
	}
}
