package cudahip

import (
	"errors"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip/rtc"
)

func TestDevicesCompileForThemselves(t *testing.T) {
	for of, arch := range map[rtc.Vendor]string{rtc.NVRTC: "sm_90", rtc.HIPRTC: "gfx906"} {
		v := &Vendor{Name: "vendor", Compiler: of}
		d := &Device{lib: &library{vendor: v}}
		d.info.Ordinal, d.info.Compute.Arch = 3, arch
		if _, err := rtc.Load(of); err != nil {
			// The error is that of this device.
			_, err := d.Compile("", &driver.Source{Text: "x"})
			var e *driver.Error
			if !errors.Is(err, driver.ErrUnavailable) || !errors.As(err, &e) || e.Device != 3 {
				t.Errorf("%s: %v", arch, err)
			}
			t.Log("without the compiler: ", err)
			continue
		}
		own, err := d.CompilerID("")
		if err != nil {
			t.Fatal(err)
		}
		if named, err := NewBackend(v).CompilerID(arch); err != nil || named != own {
			t.Errorf("%s: the backend's compiler is %q, %v; the device's %q", arch, named, err, own)
		}
		_, err = d.Compile("", &driver.Source{Text: "absent"})
		var e *driver.Error
		if !errors.Is(err, driver.ErrBuild) || !errors.As(err, &e) || e.Device != 3 {
			t.Errorf("%s: %v", arch, err)
		}
		if _, err := NewBackend(v).Compile("", &driver.Source{Text: "absent"}); !errors.Is(err, driver.ErrUnsupported) {
			t.Errorf("%s: a backend compiles for no target: %v", arch, err)
		}
	}
}

func TestCapCompile(t *testing.T) {
	const missing = "HALYARD_NVRTC_LIBRARY"
	info := driver.Info{Caps: driver.CapKernels, Compute: driver.Compute{Arch: "sm_90"}}
	l := &library{vendor: &Vendor{Compiler: rtc.NVRTC}}
	if found := rtc.Found(rtc.NVRTC); l.compiles(&info) != found {
		t.Errorf("the compiler is there: %v; the device compiles: %v", found, !found)
	}
	if simulated := (&library{vendor: l.vendor, simulated: true}); simulated.compiles(&info) != rtc.Found(rtc.NVRTC) {
		t.Error("a simulated CUDA device differs")
	}
	if target := (&Device{lib: &library{vendor: l.vendor, simulated: true}, info: info}).target(); target != "compute_90" {
		t.Errorf("a simulated device, which interprets PTX, compiles for %s", target)
	}
	t.Setenv(missing, "/nonexistent/libnvrtc.so")
	if l.compiles(&info) {
		t.Error("a device compiles without a compiler")
	}
	t.Setenv(missing, "")
	if l := (&library{vendor: &Vendor{}}); l.compiles(&info) {
		t.Error("a device of a vendor without a compiler compiles")
	}
	info.Compute.Arch = "gfx906"
	for _, simulated := range []bool{false, true} {
		l := &library{vendor: &Vendor{Compiler: rtc.HIPRTC}, simulated: simulated}
		if found := rtc.Found(rtc.HIPRTC); l.compiles(&info) != found {
			t.Errorf("hipRTC is there: %v; a HIP device, simulated %v, compiles: %v", found, simulated, !found)
		}
		if target := (&Device{lib: l, info: info}).target(); target != "gfx906" {
			t.Errorf("a gfx906 compiles for %s", target)
		}
	}
}
