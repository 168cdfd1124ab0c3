//go:build cuda && linux && !linked

package cuda

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// The tests of this file run on NVIDIA's own library, which can do some things without a device. HALYARD_TEST_LIBCUDA may
// name a library that is not installed. Each test has its own process.

// realLibrary skips the test where there is no such library.
func realLibrary(t *testing.T) *dl.Library {
	t.Helper()
	names := libraries()
	if path := os.Getenv("HALYARD_TEST_LIBCUDA"); path != "" {
		names = []string{path}
	}
	t.Setenv("HALYARD_CUDA_LIBRARY", names[0])
	lib, err := dl.Open("", names...)
	if err == nil && lib.Proc("halyard_sim_version").Valid() {
		err = errors.New(lib.Name() + " is the simulated driver")
	}
	if err != nil {
		if cudahiptest.Required("cuda-real") {
			t.Fatal(err)
		}
		t.Skip("there is no library of NVIDIA's: ", err)
	}
	return lib
}

func TestRealLibraryHasEveryCall(t *testing.T) {
	lib := realLibrary(t)
	if !cudahiptest.Alone(t) {
		return
	}
	for _, s := range symbols {
		for _, name := range []string{s.Name, s.Older} {
			if name == "" || lib.Proc(name).Valid() {
				continue
			}
			if s.Optional && s.Since != "" { // the library may be older
				t.Logf("%s lacks %s, which came with CUDA %s", lib.Name(), name, s.Since)
				continue
			}
			t.Errorf("%s lacks %s", lib.Name(), name)
		}
	}
}

// The library may be older than the table and lack some statuses, but the table must have every
// status of the library.
func TestRealLibraryNamesItsErrorsAlike(t *testing.T) {
	lib := realLibrary(t)
	if !cudahiptest.Alone(t) {
		return
	}
	proc := lib.Proc("cuGetErrorName")
	known := 0
	for code := int32(1); code < 2000; code++ {
		w := dl.GetWords()
		st := proc.Call2(uintptr(code), w.At(0))
		address := uintptr(w[0])
		w.Put()
		if int32(st) != 0 || address == 0 {
			continue
		}
		known++
		if name := dl.GoString(address); name != codes[code].Name {
			t.Errorf("%d is %s, in the table %q", code, name, codes[code].Name)
		}
	}
	if known < 80 || known > len(codes) {
		t.Errorf("the library names %d errors, the table %d", known, len(codes))
	}
}

func TestRealLibraryWithoutADeviceIsUnavailable(t *testing.T) {
	lib := realLibrary(t)
	if _, err := os.Stat("/proc/driver/nvidia/version"); err == nil {
		t.Skip("NVIDIA's kernel driver is loaded here")
	}
	// In a process of root, the library creates this device node even if there is no driver.
	const node = "/dev/nvidiactl"
	if _, err := os.Stat(node); errors.Is(err, os.ErrNotExist) {
		t.Cleanup(func() { _ = os.Remove(node) })
	}
	if !cudahiptest.Alone(t) {
		return
	}
	b := New()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	devices, err := b.Devices(ctx)
	var e *driver.Error
	if !errors.As(err, &e) || e.Kind != driver.ErrUnavailable || len(devices) != 0 || e.Backend != "cuda" || e.Device != -1 {
		t.Fatalf("Devices = %v, %v; want no devices and ErrUnavailable", devices, err)
	}
	if e.Vendor != (driver.Vendor{API: symbols[cudahip.CallInit].Name, Name: "CUDA_ERROR_NO_DEVICE", Code: 100}) {
		t.Errorf("the failing call is %+v", e.Vendor)
	}
	if !strings.Contains(err.Error(), lib.Name()) {
		t.Errorf("%q does not name the library", err)
	}
	if _, again := b.Open(ctx, 0); again != err {
		t.Errorf("Open asked again: %v", again)
	}
}
