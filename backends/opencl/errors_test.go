//go:build opencl

package opencl

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

func TestEveryStatusIsMapped(t *testing.T) {
	b := newBackend(loadTable)
	codes := b.VendorCodes()
	seen := map[int64]bool{}
	for _, code := range codes {
		if seen[code] || code >= 0 {
			t.Errorf("status %d is listed twice or is none", code)
		}
		seen[code] = true
		err := b.VendorError("clCall", code)
		var e *driver.Error
		if !errors.As(err, &e) || !slices.Contains(driver.Kinds(), e.Kind) {
			t.Errorf("status %d: %v", code, err)
			continue
		}
		if e.Vendor.Code != code || e.Vendor.API != "clCall" || !strings.HasPrefix(e.Vendor.Name, "CL_") {
			t.Errorf("status %d: %+v", code, e.Vendor)
		}
	}
	// CL/cl.h defines -1 to -19 and -30 to -72 without a gap.
	for code := int64(-1); code >= -72; code-- {
		if want := code >= -19 || code <= -30; seen[code] != want {
			t.Errorf("status %d is in the table: %t", code, seen[code])
		}
	}
	if !slices.IsSortedFunc(codes, func(a, b int64) int { return int(b - a) }) {
		t.Error("the list is not sorted")
	}
}

func TestStatusKinds(t *testing.T) {
	b := newBackend(loadTable)
	for code, kind := range map[int64]error{
		-4: driver.ErrOutOfMemory, -5: driver.ErrOutOfMemory, -6: driver.ErrOutOfMemory, -61: driver.ErrOutOfMemory,
		-8: driver.ErrOverlap, -13: driver.ErrMisaligned, -30: driver.ErrInvalidArgument, -34: driver.ErrWrongDevice,
		-1001: driver.ErrUnavailable, -9999: driver.ErrDeviceLost, -7: driver.ErrNotReady, -59: driver.ErrUnsupported,
	} {
		wantKind(t, b.VendorError("clCall", code), kind)
	}
	err := b.VendorError("clCall", -12345)
	wantKind(t, err, driver.ErrDriver)
	if !strings.Contains(err.Error(), "-12345") {
		t.Errorf("an unknown status: %v", err)
	}
}
