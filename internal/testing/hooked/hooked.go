// Package hooked wraps a backend in a layer. A test can replace each method of the layer by a function of its own, for example to
// make a call fail, to record calls, or to act at that moment.
package hooked

import (
	"context"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Backend passes every call on to the backend that it embeds, unless the hook for that call is set. A hook is set before
// the calls that it is meant for begin, and does what the method should do. Its arguments are the layer's objects, each of
// which embeds the object of the backend below; regions are those of the backend below. The methods whose names begin
// with Plain do what the layer does without a hook.
//
// The layer's objects have the methods of every optional interface. If the object below lacks an interface and there is
// no hook either, a call has the outcome that package hal has for devices without the interface: an error of kind
// ErrUnsupported, no access to peers, no need to map, no wait.
type Backend struct {
	driver.Backend

	// Call is called before every call that can fail, except Open, and before that call's hook. If it returns an error,
	// the call fails with that error and has no effect, except that a call that releases something still releases it. op is the method's
	// name, with the object's if several have that method: "Alloc", "Copy", "Sync", "Sync event", "Close device".
	Call func(op string, ordinal int) error

	List    func([]driver.Info) []driver.Info // what Devices lists
	Opening func(ordinal int) error           // called before a device is opened; an error prevents that
	Opened  func(*Device)

	Info         func(driver.Info) driver.Info // of devices, open and listed
	MemInfo      func(*Device) (free, total uint64, err error)
	Alloc        func(d *Device, kind driver.Kind, size, align uint64) (*Memory, error)
	Register     func(d *Device, p unsafe.Pointer, size uint64) (*Memory, error)
	Import       func(d *Device, kind driver.Kind, handle uintptr, size uint64) (*Memory, error)
	NewStream    func(*Device, driver.StreamOptions) (*Stream, error)
	ImportStream func(d *Device, handle uintptr) (*Stream, error)
	NewEvent     func(*Device, driver.EventOptions) (*Event, error)
	PeerAccess   func(d, other *Device) driver.PeerAccess
	Trim         func(*Device)
	CloseDevice  func(*Device) error

	HostPointer  func(*Memory) unsafe.Pointer
	FreeMayBlock func(*Memory) bool
	Free         func(*Memory) error

	// Drop is called before the hooks of copies, fills and launches. If it returns true, the work is left out and the call succeeds.
	Drop func(s *Stream, op string) bool

	Copy        func(s *Stream, dst, src driver.Region, peer bool) error // peer: one of them is another device's
	CopyIn      func(s *Stream, dst driver.Region, src unsafe.Pointer) error
	CopyOut     func(s *Stream, dst unsafe.Pointer, src driver.Region) error
	Fill        func(*Stream, driver.Region, driver.Pattern) error
	Record      func(*Stream, *Event) error
	Wait        func(*Stream, *Event) error
	Query       func(*Stream) (bool, error)
	Sync        func(*Stream) error
	Gate        func(*Stream) (driver.Gate, error)
	OnDone      func(s *Stream, fn func()) error
	Prefetch    func(s *Stream, r driver.Region, toHost bool) error
	AllocAsync  func(s *Stream, size, align uint64) (*Memory, error)
	CloseStream func(*Stream) error

	QueryEvent func(*Event) (bool, error)
	SyncEvent  func(*Event) error
	Elapsed    func(e, since *Event) (time.Duration, error)
	CloseEvent func(*Event) error

	Kernel      func(m *Module, name string) (driver.Kernel, error)
	CloseModule func(*Module) error
	Launch      func(*Stream, driver.Kernel, *driver.Launch) error
}

// Devices returns the list of the backend below, as the hooks Info and List change it.
func (b *Backend) Devices(ctx context.Context) ([]driver.Info, error) {
	infos, err := b.Backend.Devices(ctx)
	for i := range infos {
		infos[i] = b.described(infos[i])
	}
	if b.List != nil {
		infos = b.List(infos)
	}
	return infos, err
}

func (b *Backend) described(i driver.Info) driver.Info {
	if b.Info != nil {
		return b.Info(i)
	}
	return i
}

// Open opens a device.
func (b *Backend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	if b.Opening != nil {
		if err := b.Opening(ordinal); err != nil {
			return nil, err
		}
	}
	real, err := b.Backend.Open(ctx, ordinal)
	if err != nil {
		return nil, err
	}
	d := &Device{Device: real, Layer: b, Ordinal: ordinal}
	if b.Opened != nil {
		b.Opened(d)
	}
	return d, nil
}

// made returns an object of the layer as an interface that it implements, or a nil interface if there is an error.
func made[I any, P any](p P, err error) (I, error) {
	if err != nil {
		var none I
		return none, err
	}
	return any(p).(I), nil
}
