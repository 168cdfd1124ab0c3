package host

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Memory that cannot be page-locked works, and says that it is not.
func TestPageLockingDegrades(t *testing.T) {
	refusal := error(nil)
	var asked []span
	real := locks.system
	defer func() { locks.system = real }()
	locks.system = func(s span) error {
		asked = append(asked, s)
		return refusal
	}
	d, err := New(Options{}).Open(context.Background(), 0)
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
		for _, row := range []struct {
			m      driver.Memory
			locked bool
		}{{pinned, refusal == nil}, {known, refusal == nil}, {plain, false}} {
			if got := row.m.(interface{ PageLocked() bool }).PageLocked(); got != row.locked {
				t.Errorf("refusal %v: page-locked %v, want %v", refusal, got, row.locked)
			}
			from := uintptr(row.m.HostPointer())
			if row.locked && len(locks.held.free(pages(from, from+10_000))) > 0 {
				t.Errorf("%#x is not among the locks", from)
			}
			*(*byte)(row.m.HostPointer()) = 1
			if err := row.m.Free(); err != nil {
				t.Error(err)
			}
		}
		if n := locks.held.pieces; n != 0 {
			t.Errorf("%d locks stay", n)
		}
	}
	if len(asked) != 4 {
		t.Errorf("%d ranges were to be locked, want 4", len(asked))
	}
}

func TestReleaseLeavesOthersPages(t *testing.T) {
	for name, row := range map[string]struct {
		held  []span
		s     span
		loose []span
	}{
		"alone":          {nil, span{10, 20}, []span{{10, 20}}},
		"beside":         {[]span{{0, 10}, {20, 30}}, span{10, 20}, []span{{10, 20}}},
		"the same":       {[]span{{10, 20}}, span{10, 20}, nil},
		"inside another": {[]span{{0, 30}}, span{10, 20}, nil},
		"front":          {[]span{{0, 15}}, span{10, 20}, []span{{15, 20}}},
		"back":           {[]span{{15, 30}}, span{10, 20}, []span{{10, 15}}},
		"middle":         {[]span{{12, 14}}, span{10, 20}, []span{{10, 12}, {14, 20}}},
		"several":        {[]span{{12, 14}, {16, 18}, {13, 17}, {0, 11}}, span{10, 20}, []span{{11, 12}, {18, 20}}},
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
		if c.root != nil || c.pieces != 0 {
			t.Errorf("%s: %d pieces stay", name, c.pieces)
		}
	}
}

func TestPages(t *testing.T) {
	p := uintptr(os.Getpagesize())
	for _, row := range []struct{ from, to, first, end uintptr }{
		{0, 1, 0, p}, {p, 2 * p, p, 2 * p}, {p - 1, p + 1, 0, 2 * p}, {p + 1, p + 2, p, 2 * p},
	} {
		if got := pages(row.from, row.to); got != (span{row.first, row.end}) {
			t.Errorf("%#x to %#x: %v", row.from, row.to, got)
		}
	}
}

// What a device says about page-locking agrees with what the system does.
func TestLockingIsDescribedAsItIs(t *testing.T) {
	mapping, err := mapPages(uint64(os.Getpagesize()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unmapPages(mapping) }()
	from := uintptr(unsafe.Pointer(&mapping[0]))
	page := pages(from, from+1)
	refused := lockPages(page)
	if refused == nil {
		_ = unlockPages(page)
	}
	if says := platform().locking == "no page-locking"; says != errors.Is(refused, errors.ErrUnsupported) {
		t.Errorf("the machine is described with %q, and locking a page returns %v", platform().locking, refused)
	}
}
