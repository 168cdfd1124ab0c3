package dl_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-halyard/halyard/internal/dl"
)

var (
	linked      []string // the calls that were made, with their arguments
	linkResults []uintptr
	linkEntry   = dl.NewEntry12(func(a [dl.MaxArgs]uintptr) uintptr {
		grow(200)
		linked = append(linked, fmt.Sprint(a))
		return linkResults[len(linked)-1]
	})
)

func TestChain(t *testing.T) {
	const ok, fails = 1 << 40, 1<<40 | 0xfffffff9 // C ints with other bits above them, which are undefined: 0 and -7
	for _, row := range []struct {
		name    string
		calls   int
		status  bool
		results []uintptr
		inGo    bool // one of the calls is a function of Go
		passAt  int  // Pass is called after so many
		made    int
		failed  string
	}{
		{"nothing", 0, true, nil, false, 0, 0, ""},
		{"one call", 1, true, []uintptr{ok}, false, 0, 1, ""},
		{"several calls", 3, true, []uintptr{ok, ok, ok}, false, 0, 3, ""},
		{"positive results", 2, true, []uintptr{5, 0x7fffffff}, false, 0, 2, ""},
		{"the first fails", 3, true, []uintptr{fails}, false, 0, 1, "call 0"},
		{"the second fails", 3, true, []uintptr{ok, fails}, false, 0, 2, "call 1"},
		{"the last fails", 3, true, []uintptr{ok, ok, fails}, false, 0, 3, "call 2"},
		{"without results", 3, false, []uintptr{fails, fails, fails}, false, 0, 3, ""},
		{"one in Go", 3, true, []uintptr{ok, ok, ok}, true, 0, 3, ""},
		{"one in Go, and the second fails", 3, true, []uintptr{ok, fails}, true, 0, 2, "call 1"},
		{"made in two parts", 4, true, []uintptr{ok, ok, ok, ok}, false, 2, 4, ""},
		{"made in two parts, and the first part fails", 4, true, []uintptr{fails}, false, 2, 1, "call 0"},
		{"more than are made at once", 40, true, slices.Repeat([]uintptr{ok}, 40), false, 0, 40, ""},
		{"the twentieth of many fails", 40, true, append(slices.Repeat([]uintptr{ok}, 19), fails), false, 0, 20, "call 19"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := new(dl.Chain)
			for range 2 { // a chain can be used again, whatever became of it
				linked, linkResults = nil, row.results
				var want []string
				for i := range row.calls {
					var args [dl.MaxArgs]uintptr
					for k := range args {
						args[k] = uintptr(i*100+k) | 1<<50
					}
					want = append(want, fmt.Sprint(args))
					name := fmt.Sprintf("call %d", i)
					switch {
					case row.inGo && i == 0:
						c.Go(name, func() int32 { linked = append(linked, want[0]); return 0 })
					case row.status:
						c.Status(name, dl.ProcAt(linkEntry), args[:]...)
					default:
						c.Do(name, dl.ProcAt(linkEntry), args[:]...)
					}
					if i+1 == row.passAt {
						c.Pass()
					}
				}
				failed, result := c.Run()
				if failed != row.failed || (failed != "") != (result == -7) {
					t.Errorf("%q failed with %d, want %q", failed, result, row.failed)
				}
				if !slices.Equal(linked, want[:row.made]) {
					t.Errorf("made %v, want the first %d of %v", linked, row.made, want)
				}
			}
		})
	}
}

func TestChainDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("with the race detector everything allocates")
	}
	labs := dl.Process().Proc("labs")
	if !labs.Valid() {
		t.Skip("the program has no labs to call")
	}
	c := new(dl.Chain)
	if n := testing.AllocsPerRun(100, func() {
		c.Status("labs", labs, 7)
		c.Do("labs", labs, 7)
		c.Run()
	}); n != 0 {
		t.Errorf("%v allocations for a chain", n)
	}
}
