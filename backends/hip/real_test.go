//go:build hip && linux

package hip

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// realLibrary skips the test where AMD's own library is not installed, or where it finds a device.
func realLibrary(t *testing.T) {
	t.Helper()
	required := strings.Contains(os.Getenv("HALYARD_REQUIRE"), "hip-real")
	t.Setenv("HALYARD_HIP_LIBRARY", "")
	if _, err := dl.Open("", libraries()...); err != nil {
		if required {
			t.Fatal(err)
		}
		t.Skip("AMD's library is not installed: ", err)
	}
	if _, err := os.Stat("/dev/kfd"); err == nil {
		t.Skip("there is an AMD device here: /dev/kfd")
	}
}

func TestRealLibraryWithoutADeviceIsUnavailable(t *testing.T) {
	realLibrary(t)
	if !cudahiptest.Alone(t) {
		return
	}
	b := New()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	devices, err := b.Devices(ctx)
	if !errors.Is(err, driver.ErrUnavailable) || len(devices) != 0 {
		t.Fatalf("Devices = %v, %v; want no devices and ErrUnavailable", devices, err)
	}
	var e *driver.Error
	if !errors.As(err, &e) || e.Backend != "hip" || e.Device != -1 {
		t.Fatalf("error %#v", err)
	}
	if e.Vendor.API != "hipInit" && e.Vendor.API != "hipGetDeviceCount" {
		t.Errorf("the failing call is %q", e.Vendor.API)
	}
	if e.Vendor.Code != 100 && e.Vendor.Code != 101 {
		t.Errorf("the code is %d (%s), want 100 or 101", e.Vendor.Code, e.Vendor.Name)
	}
	if !strings.Contains(err.Error(), "libamdhip64.so") {
		t.Errorf("%q does not name the library", err)
	}
	if _, again := b.Open(ctx, 0); again != err {
		t.Errorf("Open asked again: %v", again)
	}
}

// A process that only asks for devices prints nothing and exits with success.
func TestRealLibraryWithoutADeviceIsQuiet(t *testing.T) {
	realLibrary(t)
	if !cudahiptest.Alone(t) {
		return
	}
	_, _ = New().Devices(context.Background())
}

func TestMissingLibraryNamesEachThatWasTried(t *testing.T) {
	t.Setenv("HALYARD_HIP_LIBRARY", "libhalyard-absent.so.1")
	b := New()
	_, err := b.Devices(context.Background())
	if !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "libhalyard-absent.so.1") ||
		!strings.Contains(err.Error(), "HALYARD_HIP_LIBRARY") {
		t.Errorf("error %v", err)
	}
}
