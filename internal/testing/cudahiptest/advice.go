package cudahiptest

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

// What cuMemRangeGetAttribute and hipMemRangeGetAttribute are asked for, and the place that stands for none.
const (
	rangeReadMostly = 1
	rangePreferred  = 2
	rangeAccessedBy = 3
	nowhere         = -2
)

// adviceArrives asks the driver what it knows of a range after each advice.
func adviceArrives(h *Harness, t *testing.T) {
	h.reset(t, 1)
	lib, err := dl.Open("", h.Library)
	ok(t, err)
	query := lib.Proc("cuMemRangeGetAttribute")
	if !query.Valid() {
		query = lib.Proc("hipMemRangeGetAttribute")
	}
	const page = 4096
	d, other := h.open(t, 0), h.open(t, 1)
	m := alloc(t, d, driver.KindShared, 3*page)
	told := func(which uintptr, off, n uint64, results int) []int32 {
		t.Helper()
		out := make([]int32, results)
		code := int32(query.Call5(pintest.Address(t, &out[0]), uintptr(4*results), which, m.Handle()+uintptr(off), uintptr(n)))
		if code != 0 {
			t.Fatalf("the driver was asked for attribute %d of [%d, %d): %d", which, off, off+n, code)
		}
		return out
	}
	middle, all := region(m, page, page), whole(m)
	for _, c := range []struct {
		region  driver.Region
		advice  driver.Advice
		at      driver.Device
		which   uintptr
		middle  []int32
		outside []int32 // of the page before
	}{
		{middle, driver.AdviceReadMostly, nil, rangeReadMostly, []int32{1}, []int32{0}},
		{all, driver.AdviceReadMostly, nil, rangeReadMostly, []int32{1}, []int32{1}},
		{middle, driver.AdviceNotReadMostly, nil, rangeReadMostly, []int32{0}, []int32{1}},
		{all, driver.AdvicePreferredAt, other, rangePreferred, []int32{1}, []int32{1}},
		{middle, driver.AdvicePreferredAt, nil, rangePreferred, []int32{-1}, []int32{1}},
		{middle, driver.AdvicePreferredAt, d, rangePreferred, []int32{0}, []int32{1}},
		{middle, driver.AdviceNotPreferred, nil, rangePreferred, []int32{nowhere}, []int32{1}},
		{all, driver.AdviceAccessedBy, d, rangeAccessedBy, []int32{0, nowhere, nowhere}, []int32{0, nowhere, nowhere}},
		{middle, driver.AdviceAccessedBy, nil, rangeAccessedBy, []int32{-1, 0, nowhere}, []int32{0, nowhere, nowhere}},
		{middle, driver.AdviceAccessedBy, other, rangeAccessedBy, []int32{-1, 0, 1}, []int32{0, nowhere, nowhere}},
		{middle, driver.AdviceNotAccessedBy, d, rangeAccessedBy, []int32{-1, 1, nowhere}, []int32{0, nowhere, nowhere}},
		{all, driver.AdviceNotAccessedBy, nil, rangeAccessedBy, []int32{1, nowhere, nowhere}, []int32{0, nowhere, nowhere}},
	} {
		ok(t, d.(driver.Adviser).Advise(c.region, c.advice, c.at))
		if got := told(c.which, page, page, len(c.middle)); !slices.Equal(got, c.middle) {
			t.Errorf("%v at %v: the driver knows %v of the page in the middle, want %v", c.advice, c.at, got, c.middle)
		}
		if got := told(c.which, 0, page, len(c.outside)); !slices.Equal(got, c.outside) {
			t.Errorf("%v at %v: the driver knows %v of the first page, want %v", c.advice, c.at, got, c.outside)
		}
	}
	if found := h.sim.Violations(); len(found) > 0 {
		t.Errorf("violations:\n%s", strings.Join(found, "\n"))
	}
}

// adviceRefused gives advice that package hal does not pass on, or that only the backend can refuse.
func adviceRefused(h *Harness, t *testing.T) {
	h.reset(t, 1)
	d := h.open(t, 0)
	for _, k := range []driver.Kind{driver.KindDevice, driver.KindHost} {
		kind(t, d.(driver.Adviser).Advise(whole(alloc(t, d, k, 100)), driver.AdviceReadMostly, nil), driver.ErrUnsupported)
	}
	kind(t, d.(driver.Adviser).Advise(driver.Region{Mem: foreignMemory{}, Len: 1}, driver.AdviceReadMostly, nil), driver.ErrWrongDevice)
	if !d.Info().Caps.Has(driver.CapAdvise) {
		return
	}
	m := alloc(t, d, driver.KindShared, 100)
	kind(t, d.(driver.Adviser).Advise(whole(m), driver.AdvicePreferredAt, foreignDevice{}), driver.ErrWrongDevice)
}

// foreignDevice is a device of another backend.
type foreignDevice struct{ driver.Device }
