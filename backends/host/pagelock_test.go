package host

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/pages"
	"github.com/go-halyard/halyard/internal/span"
)

// Memory that cannot be page-locked works, and says that it is not.
func TestPageLockingDegrades(t *testing.T) {
	refusal := error(nil)
	var asked []span.Range
	real := locks.system
	defer func() { locks.system = real }()
	locks.system = func(s span.Range) error {
		asked = append(asked, s)
		return refusal
	}
	backend := New(Options{Discrete: 1})
	d, err := backend.Open(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	unified, err := backend.Open(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	mem := make([]byte, 10_000)
	for _, refusal = range []error{nil, errors.New("over the limit")} {
		pinned, err := d.Alloc(driver.KindHost, 10_000, 0)
		if err != nil {
			t.Fatal(err)
		}
		known, err := d.(driver.Registerer).Register(unsafe.Pointer(&mem[0]), 10_000)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := d.Alloc(driver.KindShared, 10_000, 0)
		if err != nil {
			t.Fatal(err)
		}
		inPlace, err := unified.Alloc(driver.KindHost, 10_000, 0) // nothing is copied there
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct {
			m      driver.Memory
			locked bool
		}{{pinned, refusal == nil}, {known, refusal == nil}, {plain, false}, {inPlace, false}} {
			if got := row.m.(interface{ PageLocked() bool }).PageLocked(); got != row.locked {
				t.Errorf("refusal %v: page-locked %v, want %v", refusal, got, row.locked)
			}
			from := uintptr(row.m.HostPointer())
			if row.locked && len(locks.held.free(wholePages(from, from+10_000))) > 0 {
				t.Errorf("%#x is not among the locks", from)
			}
			*(*byte)(row.m.HostPointer()) = 1
			if err := row.m.Free(); err != nil {
				t.Error(err)
			}
		}
		if n := locks.held.held.Len(); n != 0 {
			t.Errorf("%d locks stay", n)
		}
	}
	if len(asked) != 4 {
		t.Errorf("%d ranges were to be locked, want 4", len(asked))
	}
}

func TestReleaseLeavesOthersPages(t *testing.T) {
	for name, row := range map[string]struct {
		held  []span.Range
		s     span.Range
		loose []span.Range
	}{
		"alone":          {nil, span.Range{Lo: 10, Hi: 20}, []span.Range{{Lo: 10, Hi: 20}}},
		"beside":         {[]span.Range{{Lo: 0, Hi: 10}, {Lo: 20, Hi: 30}}, span.Range{Lo: 10, Hi: 20}, []span.Range{{Lo: 10, Hi: 20}}},
		"the same":       {[]span.Range{{Lo: 10, Hi: 20}}, span.Range{Lo: 10, Hi: 20}, nil},
		"inside another": {[]span.Range{{Lo: 0, Hi: 30}}, span.Range{Lo: 10, Hi: 20}, nil},
		"front":          {[]span.Range{{Lo: 0, Hi: 15}}, span.Range{Lo: 10, Hi: 20}, []span.Range{{Lo: 15, Hi: 20}}},
		"back":           {[]span.Range{{Lo: 15, Hi: 30}}, span.Range{Lo: 10, Hi: 20}, []span.Range{{Lo: 10, Hi: 15}}},
		"middle":         {[]span.Range{{Lo: 12, Hi: 14}}, span.Range{Lo: 10, Hi: 20}, []span.Range{{Lo: 10, Hi: 12}, {Lo: 14, Hi: 20}}},
		"several": {[]span.Range{{Lo: 12, Hi: 14}, {Lo: 16, Hi: 18}, {Lo: 13, Hi: 17}, {Lo: 0, Hi: 11}},
			span.Range{Lo: 10, Hi: 20}, []span.Range{{Lo: 11, Hi: 12}, {Lo: 18, Hi: 20}}},
	} {
		var c cover
		for _, h := range row.held {
			c.add(h)
		}
		if got := c.free(row.s); !slices.Equal(got, row.loose) {
			t.Errorf("%s: free are %v, want %v", name, got, row.loose)
		}
		c.add(row.s)
		if got := c.remove(row.s); !slices.Equal(got, row.loose) {
			t.Errorf("%s: %v, want %v", name, got, row.loose)
		}
		for _, h := range row.held {
			c.remove(h)
		}
		if c.held.Len() != 0 {
			t.Errorf("%s: %d ranges stay", name, c.held.Len())
		}
	}
}

func TestPages(t *testing.T) {
	p := uintptr(os.Getpagesize())
	for _, row := range []struct{ from, to, first, end uintptr }{
		{0, 1, 0, p}, {p, 2 * p, p, 2 * p}, {p - 1, p + 1, 0, 2 * p}, {p + 1, p + 2, p, 2 * p},
	} {
		if got := wholePages(row.from, row.to); got != addresses(row.first, row.end) {
			t.Errorf("%#x to %#x: %v", row.from, row.to, got)
		}
	}
}

// What a device says about page-locking agrees with what the system does.
func TestLockingIsDescribedAsItIs(t *testing.T) {
	mapping, err := pages.Map(uint64(os.Getpagesize()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pages.Unmap(mapping) }()
	from := uintptr(unsafe.Pointer(&mapping[0]))
	page := wholePages(from, from+1)
	refused := lockPages(page)
	if refused == nil {
		_ = unlockPages(page)
	}
	if says := platform().locking == "no page-locking"; says != errors.Is(refused, errors.ErrUnsupported) {
		t.Errorf("the machine is described with %q, and locking a page returns %v", platform().locking, refused)
	}
}
