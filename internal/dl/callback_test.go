package dl_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-halyard/halyard/internal/dl"
)

// One entry for each shape: process-wide callback slots are scarce.
var (
	oneArg    = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(1, 0) })
	twoArgs   = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(2, 1) })
	threeArgs = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(3, 2) })
	fourArgs  = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(4, 1) })
)

func add(t testing.TB, c *dl.Callbacks, fn func(dl.CallbackArgs)) uintptr {
	t.Helper()
	id, err := c.Add(fn)
	if err != nil {
		t.Fatal(err)
	}
	if id == 0 {
		t.Fatal("an id is zero")
	}
	return id
}

func TestCallbackGetsItsArguments(t *testing.T) {
	var got dl.CallbackArgs
	keep := func(a dl.CallbackArgs) { got = a }

	id := add(t, oneArg(), keep)
	dl.ProcAt(oneArg().Entry()).Call1(id)
	if got != (dl.CallbackArgs{id}) {
		t.Errorf("one argument: %v", got)
	}
	id = add(t, twoArgs(), keep)
	dl.ProcAt(twoArgs().Entry()).Call2(11, id)
	if got != (dl.CallbackArgs{11, id}) {
		t.Errorf("two arguments: %v", got)
	}
	id = add(t, threeArgs(), keep)
	dl.ProcAt(threeArgs().Entry()).Call3(11, 12, id)
	if got != (dl.CallbackArgs{11, 12, id}) {
		t.Errorf("three arguments: %v", got)
	}
	id = add(t, fourArgs(), keep)
	dl.ProcAt(fourArgs().Entry()).Call4(11, id, 13, 14)
	if got != (dl.CallbackArgs{11, id, 13, 14}) {
		t.Errorf("four arguments: %v", got)
	}
}

func TestFunctionGetsItsArguments(t *testing.T) {
	var got dl.CallbackArgs
	f := dl.ProcAt(dl.NewFunction(func(a dl.CallbackArgs) { got = a }))
	for first := range uintptr(3) { // it can be called more than once
		f.Call4(first, 12, 13, 14)
		if got != (dl.CallbackArgs{first, 12, 13, 14}) {
			t.Errorf("%v", got)
		}
	}
}

func TestCallbackIdIsGoodForOneCall(t *testing.T) {
	c := threeArgs()
	entry := dl.ProcAt(c.Entry())
	before := c.Outstanding()
	calls := 0
	id := add(t, c, func(dl.CallbackArgs) { calls++ })
	if got := c.Outstanding(); got != before+1 {
		t.Errorf("%d outstanding, want %d", got, before+1)
	}
	entry.Call3(0, 0, id)
	entry.Call3(0, 0, id)
	if calls != 1 {
		t.Errorf("called %d times, want once", calls)
	}

	// The slot now goes to another function, which the old id must not reach.
	other := 0
	id2 := add(t, c, func(dl.CallbackArgs) { other++ })
	entry.Call3(0, 0, id)
	if other != 0 {
		t.Error("an id that was used reached the slot's next function")
	}
	if id2 == id {
		t.Error("an id came twice")
	}
	if !c.Remove(id2) {
		t.Error("Remove of an outstanding id reports false")
	}
	if c.Remove(id2) || c.Remove(id) || c.Remove(0) || c.Remove(^uintptr(0)) {
		t.Error("Remove of a dead id reports true")
	}
	entry.Call3(0, 0, id2)
	entry.Call3(0, 0, 0)
	entry.Call3(0, 0, ^uintptr(0))
	if calls != 1 || other != 0 {
		t.Error("a dead id called something")
	}
	if got := c.Outstanding(); got != before {
		t.Errorf("%d outstanding, want %d", got, before)
	}
}

// Functions may use the table they were called from, as a stream does that
// registers its next callback.
func TestCallbackMayAddAndCall(t *testing.T) {
	c := threeArgs()
	entry := dl.ProcAt(c.Entry())
	var order []int
	id := add(t, c, func(dl.CallbackArgs) {
		order = append(order, 1)
		entry.Call3(0, 0, add(t, c, func(dl.CallbackArgs) { order = append(order, 2) }))
	})
	entry.Call3(0, 0, id)
	if len(order) != 2 || order[0] != 1 || order[1] != 2 {
		t.Errorf("order %v", order)
	}
}

func TestCallbacksConcurrently(t *testing.T) {
	c := threeArgs()
	entry := dl.ProcAt(c.Entry())
	before := c.Outstanding()
	var calls atomic.Int64
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				want := uintptr(g<<16 | i)
				id, err := c.Add(func(a dl.CallbackArgs) {
					if a[0] != want {
						t.Errorf("got the arguments of another call: %#x, want %#x", a[0], want)
					}
					calls.Add(1)
				})
				if err != nil {
					t.Error(err)
					return
				}
				if i%5 == 0 {
					c.Remove(id)
				}
				entry.Call3(want, 0, id)
			}
		})
	}
	wg.Wait()
	if got := calls.Load(); got != 8*80 {
		t.Errorf("%d calls, want %d", got, 8*80)
	}
	if got := c.Outstanding(); got != before {
		t.Errorf("%d outstanding, want %d", got, before)
	}
}

func TestCallbackShapeIsChecked(t *testing.T) {
	for _, bad := range [][2]int{{0, 0}, {5, 0}, {1, 1}, {2, -1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewCallbacks(%d, %d) did not panic", bad[0], bad[1])
				}
			}()
			dl.NewCallbacks(bad[0], bad[1])
		}()
	}
}
