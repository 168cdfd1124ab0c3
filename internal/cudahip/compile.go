package cudahip

import (
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip/rtc"
)

// compiles reports whether a device has CapCompile: it runs kernels, its architecture is known, and its vendor's
// compiler is installed. The simulated CUDA driver interprets PTX. The simulated HIP driver can load the output of
// hipRTC only for the programs of package conformance and of the benchmark, and refuses other programs.
func (l *library) compiles(info *driver.Info) bool {
	return info.Caps.Has(driver.CapKernels) && info.Compute.Arch != "" && l.vendor.Compiler != 0 && rtc.Found(l.vendor.Compiler)
}

// target returns the target to compile for if the caller names none: the device's own architecture.
func (d *Device) target() string {
	arch := d.info.Compute.Arch
	if d.lib.simulated { // the simulated driver interprets PTX
		return strings.Replace(arch, "sm_", "compute_", 1)
	}
	return arch
}

// CompilerID implements driver.Compiler. It needs no device.
func (b *Backend) CompilerID(target string) (string, error) {
	return b.vendor.compilerID(target, -1)
}

// Compile implements driver.Compiler. It needs no device.
func (b *Backend) Compile(target string, src *driver.Source) (*driver.Image, error) {
	return b.vendor.compile(target, src, -1)
}

func (d *Device) CompilerID(target string) (string, error) {
	if target == "" {
		target = d.target()
	}
	return d.lib.vendor.compilerID(target, d.info.Ordinal)
}

func (d *Device) Compile(target string, src *driver.Source) (*driver.Image, error) {
	if target == "" {
		target = d.target()
	}
	return d.lib.vendor.compile(target, src, d.info.Ordinal)
}

func (v *Vendor) compilerID(target string, ordinal int) (string, error) {
	c, err := rtc.Load(v.Compiler)
	if err != nil {
		return "", onDevice(err, ordinal)
	}
	id, err := c.ID(target)
	return id, onDevice(err, ordinal)
}

func (v *Vendor) compile(target string, src *driver.Source, ordinal int) (*driver.Image, error) {
	c, err := rtc.Load(v.Compiler)
	if err != nil {
		return nil, onDevice(err, ordinal)
	}
	img, err := c.Compile(target, src)
	return img, onDevice(err, ordinal)
}

// onDevice returns a compiler's error with the device's ordinal. It changes a copy, because other callers may have the same error.
func onDevice(err error, ordinal int) error {
	e, ok := err.(*driver.Error)
	if !ok {
		return err
	}
	c := *e
	c.Device = ordinal
	return &c
}

var (
	_ driver.Compiler = (*Backend)(nil)
	_ driver.Compiler = (*Device)(nil)
)
