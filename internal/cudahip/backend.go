package cudahip

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// Vendor describes one family of devices.
type Vendor struct {
	Name      string   // of the backend
	Label     string   // of the vendor, for people
	Env       string   // the variable that names the library
	Libraries []string // names to try, newest first

	// Bind returns the calls of a library.
	Bind func(*dl.Library) (API, error)

	// Binding says for people how the calls are bound.
	Binding string

	Codes Codes

	// Attributes are the vendor's numbers of each attribute. A device has an
	// attribute if any of its numbers is not zero; one without numbers is
	// not asked for and taken to be there.
	Attributes [NumAttributes][]int32

	// LowPriority and HighPriority are the widest range of priorities that any device has; the
	// vendor clamps to the device's own, which cannot be asked for without a context.
	LowPriority, HighPriority int

	// HostGates says that a host function may block for as long as it likes, so that it can
	// hold a stream shut where a stream cannot wait for a word of memory.
	HostGates bool

	// LegacyStream is the handle of the default stream, which 0 stands for too, and which is not 0 where
	// the vendor has another.
	LegacyStream uintptr

	// Version formats the library's version for people.
	Version func(int) string
}

// Backend implements driver.Backend. The library is looked for at the first use, by the names
// that the environment gives at that moment, and asked once: what was found, or why nothing
// was, holds for the rest of the program for as long as the environment says the same.
type Backend struct {
	vendor *Vendor

	mu        sync.Mutex
	libraries map[string]*loading // by the value of the environment variable
}

// loading is a library that has been, or is being, loaded.
type loading struct {
	done chan struct{}
	lib  *library
	err  error
}

// library is a loaded library that has been initialised.
type library struct {
	vendor    *Vendor
	api       API
	name      string
	version   int
	simulated bool
	hosts     ranges
}

// NewBackend returns the backend of a vendor.
func NewBackend(v *Vendor) *Backend {
	return &Backend{vendor: v, libraries: make(map[string]*loading)}
}

// Name implements driver.Backend.
func (b *Backend) Name() string { return b.vendor.Name }

func (b *Backend) library(ctx context.Context) (*library, error) {
	if err := ctx.Err(); err != nil {
		return nil, b.unavailable("load", err)
	}
	key := os.Getenv(b.vendor.Env)
	b.mu.Lock()
	l := b.libraries[key]
	if l == nil {
		l = &loading{done: make(chan struct{})}
		b.libraries[key] = l
		// Loading a driver takes as long as the driver likes.
		go func() {
			defer close(l.done)
			l.lib, l.err = b.load()
		}()
	}
	b.mu.Unlock()
	select {
	case <-l.done:
		return l.lib, l.err
	case <-ctx.Done():
		return nil, b.unavailable("load", ctx.Err())
	}
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

// unavailable says that the library is there and does not work.
func (l *library) unavailable(c Call, code Code) error {
	e := l.fail("load", -1, c, code)
	e.Kind = driver.ErrUnavailable
	e.Detail = l.name + " was loaded and finds no usable device"
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
	infos := make([]driver.Info, 0, n)
	for i := range n {
		_, info, err := lib.describe(i)
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// Open implements driver.Backend. The device's own context is retained, the one that every
// library in the program shares.
func (b *Backend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	lib, err := b.library(ctx)
	if err != nil {
		return nil, err
	}
	n, code := lib.api.DeviceCount()
	if code != Success {
		return nil, lib.fail("open", ordinal, CallDeviceCount, code)
	}
	if ordinal < 0 || ordinal >= n {
		return nil, &driver.Error{Op: "open", Backend: lib.vendor.Name, Device: ordinal,
			Kind: driver.ErrInvalidArgument, Detail: fmt.Sprintf("there are %d devices", n)}
	}
	dev, info, err := lib.describe(ordinal)
	if err != nil {
		return nil, err
	}
	return open(lib, dev, info)
}

// describe asks for everything about a device that needs no context.
func (l *library) describe(ordinal int) (dev int32, info driver.Info, err error) {
	const op = "describe"
	api := l.api
	fail := func(c Call, code Code) (int32, driver.Info, error) {
		return 0, driver.Info{}, l.fail(op, ordinal, c, code)
	}
	dev, code := api.DeviceGet(ordinal)
	if code != Success {
		return fail(CallDeviceGet, code)
	}
	info = driver.Info{Backend: l.vendor.Name, Ordinal: ordinal, Vendor: l.vendor.Label,
		Driver:    fmt.Sprintf("%s (%s, %s)", l.vendor.Version(l.version), l.name, l.vendor.Binding),
		Simulated: l.simulated,
		Alignment: naturalAlign, MaxAlign: maxAlign}
	if info.Model, code = api.DeviceName(dev); code != Success {
		return fail(CallDeviceName, code)
	}
	if l.simulated && !strings.Contains(info.Model, "simulated") {
		info.Model += " (simulated)"
	}
	if info.TotalMemory, code = api.DeviceTotal(dev); code != Success {
		return fail(CallDeviceTotal, code)
	}
	info.MaxAlloc = info.TotalMemory
	if api.Has(CallDeviceUUID) {
		uuid, code := api.DeviceUUID(dev)
		if code != Success {
			return fail(CallDeviceUUID, code)
		}
		info.UUID = uuid
	}
	if api.Has(CallDeviceBus) {
		bus, code := api.DeviceBus(dev)
		if code != Success {
			return fail(CallDeviceBus, code)
		}
		info.PCI = parseBus(bus)
	}
	var has [NumAttributes]bool
	for a := range has {
		if has[a], code = l.attribute(dev, Attribute(a)); code != Success {
			return fail(CallDeviceAttribute, code)
		}
	}
	info.SharesHostMemory = has[AttrIntegrated] && has[AttrMapHost]
	info.Caps = l.caps(&has)
	if info.Caps.Has(driver.CapPriority) {
		info.LowPriority, info.HighPriority = l.vendor.LowPriority, l.vendor.HighPriority
	}
	return dev, info, nil
}

// attribute reports whether the device has an attribute. A library that is older than the
// attribute calls its number invalid.
func (l *library) attribute(dev int32, a Attribute) (bool, Code) {
	numbers := l.vendor.Attributes[a]
	for _, n := range numbers {
		v, code := l.api.DeviceAttribute(dev, n)
		if code != Success && code != CodeInvalidValue {
			return false, code
		}
		if code == Success && v != 0 {
			return true, Success
		}
	}
	return len(numbers) == 0, Success
}

func (l *library) caps(has *[NumAttributes]bool) driver.Caps {
	api := l.api
	caps := driver.CapAsyncCopy | driver.CapTiming | driver.CapMemInfo | driver.CapAddress | driver.CapImport | driver.CapImportStream
	add := func(c driver.Caps, ok bool) {
		if ok {
			caps |= c
		}
	}
	add(driver.CapHostCallback|driver.CapOrderedPageable, api.Has(CallHostCall))
	add(driver.CapGate, l.vendor.HostGates && api.Has(CallHostCall) || api.Has(CallWaitValue) && has[AttrWaitValue])
	add(driver.CapRegister, has[AttrRegister] && api.Has(CallHostRegister))
	add(driver.CapPeerCopy, api.Has(CallCopyPeer) && api.Has(CallPeerEnable) && api.Has(CallCanAccessPeer))
	add(driver.CapStreamAlloc, has[AttrPools] && api.Has(CallAllocAsync) && api.Has(CallFreeAsync))
	add(driver.CapShared, has[AttrManaged] && api.Has(CallManagedAlloc))
	concurrent := caps.Has(driver.CapShared) && has[AttrConcurrentManaged]
	add(driver.CapConcurrentShared, concurrent)
	add(driver.CapPrefetch, concurrent && api.Has(CallPrefetch))
	add(driver.CapIPC, handlesByValue && !has[AttrIntegrated] && api.Has(CallIPCExport) && api.Has(CallIPCOpen) && api.Has(CallIPCClose))
	add(driver.CapPriority, has[AttrPriorities])
	add(driver.CapPointerInfo, api.Has(CallPointer))
	add(driver.CapCopy2D, api.Has(CallCopy2D))
	return caps
}

// parseBus reads "0000:3b:00.0" or "3b:00.0"; an address in any other form is not known.
func parseBus(s string) driver.PCI {
	p := driver.PCI{Known: true}
	if n, _ := fmt.Sscanf(s, "%x:%x:%x.%x", &p.Domain, &p.Bus, &p.Dev, &p.Fun); n >= 3 {
		return p
	}
	p.Domain = 0
	if n, _ := fmt.Sscanf(s, "%x:%x.%x", &p.Bus, &p.Dev, &p.Fun); n == 3 {
		return p
	}
	return driver.PCI{}
}
