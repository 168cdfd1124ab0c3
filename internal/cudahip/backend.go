package cudahip

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip/rtc"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/span"
)

// Vendor describes one family of devices.
type Vendor struct {
	Name      string   // the backend's name
	Label     string   // the vendor's name, for display
	Env       string   // the environment variable that names the library
	Libraries []string // names to try, newest first

	// Bind returns the calls of a library.
	Bind func(*dl.Library) (API, error)

	// Binding says how the calls are bound, for display.
	Binding string

	Codes Codes

	// Attributes holds the vendor's numbers of each attribute. A device has an attribute if the
	// query of any of its numbers returns a value other than zero. An attribute without numbers is
	// not queried: every device counts as having it.
	Attributes [NumAttributes][]int32

	// LowPriority and HighPriority are the widest range of priorities of any device. The vendor's
	// library clamps a priority to the device's own range, which cannot be queried without a
	// context.
	LowPriority, HighPriority int

	// HostGates says that a host function may block for any length of time. Then a blocked host
	// function serves as a gate if streams cannot wait for a word of memory.
	HostGates bool

	// PolledEvents says that waits poll their events. Otherwise a waiting thread sleeps in the vendor's call. For that
	// the device interrupts the processor at every recorded event, even if no thread waits for it.
	PolledEvents bool

	// LegacyStream is the handle that replaces 0 for the legacy default stream. It is 0 if the
	// vendor has no other handle for that stream.
	LegacyStream uintptr

	// HostPointers returns the number that a version of the library reports as the type of page-locked memory; the type of device
	// memory has the next number. PointerRanges says that the attributes of an address have the range of its allocation.
	HostPointers  func(version int32) int32
	PointerRanges bool

	// Limits holds the vendor's number of each limit, or 0 if the vendor does not report the limit.
	Limits [NumLimits]int32

	// Formats are the formats of code that the devices load, the best first. Language is the source language that
	// is compiled for them.
	Formats  []driver.Format
	Language driver.Language

	// MaxGlobal is the largest number of threads of a launch in one dimension, or 0 if only the
	// number of blocks is limited.
	MaxGlobal uint64

	// Arch returns the name of a device's architecture, as compilers take it, and whether the device has arithmetic on
	// float64 and float16. The name is "" if the library does not report it.
	Arch func(api API, dev int32) (name string, float64, float16 bool)

	// Version formats the library's version for display.
	Version func(int32) string

	// Compiler compiles for the vendor's devices. It is 0 if there is none.
	Compiler rtc.Vendor
}

// Backend implements driver.Backend. The library is loaded and initialised at the first use. For
// each value of the environment variable that names the library, the loaded library or the error is
// kept for the rest of the program.
type Backend struct {
	vendor *Vendor

	mu        sync.Mutex
	libraries map[string]*dl.Once[*library] // by the value of the environment variable
}

// library is a loaded library that has been initialised.
type library struct {
	vendor    *Vendor
	api       API
	name      string
	version   int32
	simulated bool
	hosts     span.Set // memory that the library can copy without blocking the caller: page-locked and managed

	mu     sync.Mutex
	places []place // by ordinal
}

// place is a listed device and the latest description of it. The device keeps its ordinal unless a device before it in the list is removed,
// because its number is no longer below the library's count of devices.
type place struct {
	number int   // the library's number of the device
	dev    int32 // the library's handle
	info   driver.Info
	lacks  driver.Caps // capabilities of its description that the device was found to lack when it was opened
}

// NewBackend returns the backend of a vendor.
func NewBackend(v *Vendor) *Backend {
	return &Backend{vendor: v, libraries: make(map[string]*dl.Once[*library])}
}

func (b *Backend) Name() string { return b.vendor.Name }

func (b *Backend) library(ctx context.Context) (*library, error) {
	if ctx.Err() != nil {
		return nil, b.interrupted(ctx)
	}
	key := os.Getenv(b.vendor.Env)
	b.mu.Lock()
	l := b.libraries[key]
	if l == nil {
		l = &dl.Once[*library]{Call: b.load}
		b.libraries[key] = l
	}
	b.mu.Unlock()
	if !l.Returned(ctx) {
		return nil, b.interrupted(ctx)
	}
	return l.Value, l.Err
}

// interrupted returns the error of a call that gave up because ctx ended.
func (b *Backend) interrupted(ctx context.Context) error {
	return &driver.Error{Op: "load", Backend: b.vendor.Name, Device: -1, Kind: driver.ErrNotReady,
		Detail: "the driver has not answered", Err: context.Cause(ctx)}
}

func (b *Backend) load() (*library, error) {
	found, err := dl.Open(b.vendor.Env, b.vendor.Libraries...)
	if err != nil {
		return nil, b.unavailable("load", err)
	}
	api, err := b.vendor.Bind(found)
	if err != nil {
		return nil, b.unavailable("load", err)
	}
	l := &library{vendor: b.vendor, api: api, name: found.Name(),
		simulated: found.Proc("halyard_sim_version").Valid()}
	defer found.LockOpenCL()()
	if code := api.Init(); code != Success {
		return nil, l.unavailable(CallInit, code)
	}
	var code Code
	if l.version, code = api.Version(); code != Success {
		return nil, l.unavailable(CallVersion, code)
	}
	if _, code := api.DeviceCount(); code != Success {
		return nil, l.unavailable(CallDeviceCount, code)
	}
	return l, nil
}

func (b *Backend) unavailable(op string, err error) error {
	return &driver.Error{Op: op, Backend: b.vendor.Name, Device: -1, Kind: driver.ErrUnavailable, Err: err}
}

// unavailable returns the error of a library that was loaded but does not work.
func (l *library) unavailable(c Call, code Code) error {
	e := l.fail("load", -1, c, code)
	e.Kind = driver.ErrUnavailable
	e.Detail = l.name + " was loaded but does not work"
	return e
}

// Devices implements driver.Backend. No context is created.
func (b *Backend) Devices(ctx context.Context) ([]driver.Info, error) {
	lib, err := b.library(ctx)
	if err != nil {
		return nil, err
	}
	n, code := lib.api.DeviceCount()
	if code != Success {
		return nil, lib.fail("list", -1, CallDeviceCount, code)
	}
	return lib.list(int(n))
}

// list describes the library's n devices. A device that cannot be described is left out. If it was listed before, it
// stays in the list instead, with its ordinal and its latest description. If the list is empty, the error is that of
// the first device.
func (l *library) list(n int) ([]driver.Info, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places = slices.DeleteFunc(l.places, func(p place) bool { return p.number >= n })
	var failed error
	for number := range n {
		ordinal := slices.IndexFunc(l.places, func(p place) bool { return p.number == number })
		known := ordinal >= 0
		if !known {
			ordinal = len(l.places)
		}
		dev, info, err := l.describe(number, ordinal)
		switch {
		case err != nil && failed == nil:
			failed = err
		case err != nil:
		case known:
			p := &l.places[ordinal]
			info.Caps &^= p.lacks
			p.dev, p.info = dev, info
		default:
			l.places = append(l.places, place{number: number, dev: dev, info: info})
		}
	}
	if len(l.places) == 0 {
		return nil, failed
	}
	infos := make([]driver.Info, len(l.places))
	for i, p := range l.places {
		infos[i] = p.info
	}
	return infos, nil
}

// ordinal returns the index of a device in the list, -1 if it is not listed.
func (l *library) ordinal(dev int32) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.IndexFunc(l.places, func(p place) bool { return p.dev == dev })
}

// Open implements driver.Backend. On CUDA it retains the device's primary context, which all libraries in
// the program share. HIP has no such call.
func (b *Backend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	lib, err := b.library(ctx)
	if err != nil {
		return nil, err
	}
	n, code := lib.api.DeviceCount()
	if code != Success {
		return nil, lib.fail("open", ordinal, CallDeviceCount, code)
	}
	// The list may have grown since the caller saw it: a device that could not be described at that time may be
	// described now.
	infos, err := lib.list(int(n))
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(infos) {
		return nil, &driver.Error{Op: "open", Backend: lib.vendor.Name, Device: ordinal,
			Kind: driver.ErrOutOfRange, Detail: fmt.Sprintf("the number of devices is %d, and they are numbered from 0", len(infos))}
	}
	lib.mu.Lock()
	number := lib.places[ordinal].number
	lib.mu.Unlock()
	dev, info, err := lib.describe(number, ordinal)
	if err != nil {
		return nil, err
	}
	d, err := open(lib, dev, info)
	if err != nil {
		return nil, err
	}
	lib.mu.Lock()
	defer lib.mu.Unlock()
	p := &lib.places[ordinal]
	p.lacks = info.Caps &^ d.info.Caps
	p.info = d.info
	return d, nil
}
