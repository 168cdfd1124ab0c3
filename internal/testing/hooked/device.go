package hooked

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Device is a device of the layer.
type Device struct {
	driver.Device
	Layer   *Backend
	Ordinal int
	Data    any // for the hooks' own use
}

// ask returns the error that a call has to fail with, or nil.
func (d *Device) ask(op string) error {
	if f := d.Layer.Call; f != nil {
		return f(op, d.Ordinal)
	}
	return nil
}

// release calls do in any case. If the call has to fail it returns that error, else the error of do.
func (d *Device) release(op string, do func() error) error {
	err := d.ask(op)
	if e := do(); err == nil {
		err = e
	}
	return err
}

func (d *Device) lacks(op string) error {
	return &driver.Error{Op: op, Backend: d.Layer.Name(), Device: d.Ordinal, Kind: driver.ErrUnsupported, Detail: "the backend below cannot do it"}
}

// Info implements driver.Device.
func (d *Device) Info() driver.Info { return d.Layer.described(d.Device.Info()) }

// EventsKeepFailures implements driver.FailureKeeper. Hooks that decide how work or events end keep no failures.
func (d *Device) EventsKeepFailures() bool {
	if l := d.Layer; l.Drop != nil || l.QueryEvent != nil || l.SyncEvent != nil {
		return false
	}
	k, ok := d.Device.(driver.FailureKeeper)
	return ok && k.EventsKeepFailures()
}

// ForgetsToldFailures implements driver.FailureKeeper.
func (d *Device) ForgetsToldFailures() bool {
	k, ok := d.Device.(driver.FailureKeeper)
	return ok && k.ForgetsToldFailures()
}

// MemInfo implements driver.Device.
func (d *Device) MemInfo() (free, total uint64, err error) {
	if err := d.ask("MemInfo"); err != nil {
		return 0, 0, err
	}
	if f := d.Layer.MemInfo; f != nil {
		return f(d)
	}
	return d.Device.MemInfo()
}

// PlainAlloc allocates memory.
func (d *Device) PlainAlloc(kind driver.Kind, size, align uint64) (*Memory, error) {
	m, err := d.Device.Alloc(kind, size, align)
	return d.wrap(m, kind, size, err)
}

// Alloc implements driver.Device.
func (d *Device) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
	if err := d.ask("Alloc"); err != nil {
		return nil, err
	}
	if f := d.Layer.Alloc; f != nil {
		return made[driver.Memory](f(d, kind, size, align))
	}
	return made[driver.Memory](d.PlainAlloc(kind, size, align))
}

// PlainRegister registers host memory.
func (d *Device) PlainRegister(p unsafe.Pointer, size uint64) (*Memory, error) {
	r, ok := d.Device.(driver.Registerer)
	if !ok {
		return nil, d.lacks("Register")
	}
	m, err := r.Register(p, size)
	return d.wrap(m, driver.KindHost, size, err)
}

// Register implements driver.Registerer.
func (d *Device) Register(p unsafe.Pointer, size uint64) (driver.Memory, error) {
	if err := d.ask("Register"); err != nil {
		return nil, err
	}
	if f := d.Layer.Register; f != nil {
		return made[driver.Memory](f(d, p, size))
	}
	return made[driver.Memory](d.PlainRegister(p, size))
}

// PlainImport imports memory.
func (d *Device) PlainImport(kind driver.Kind, handle uintptr, size uint64) (*Memory, error) {
	i, ok := d.Device.(driver.Importer)
	if !ok {
		return nil, d.lacks("Import")
	}
	m, err := i.Import(kind, handle, size)
	return d.wrap(m, kind, size, err)
}

// Import implements driver.Importer.
func (d *Device) Import(kind driver.Kind, handle uintptr, size uint64) (driver.Memory, error) {
	if err := d.ask("Import"); err != nil {
		return nil, err
	}
	if f := d.Layer.Import; f != nil {
		return made[driver.Memory](f(d, kind, handle, size))
	}
	return made[driver.Memory](d.PlainImport(kind, handle, size))
}

// PlainNewStream makes a stream.
func (d *Device) PlainNewStream(o driver.StreamOptions) (*Stream, error) {
	s, err := d.Device.NewStream(o)
	if err != nil {
		return nil, err
	}
	return &Stream{Stream: s, Device: d}, nil
}

// NewStream implements driver.Device.
func (d *Device) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	if err := d.ask("NewStream"); err != nil {
		return nil, err
	}
	if f := d.Layer.NewStream; f != nil {
		return made[driver.Stream](f(d, o))
	}
	return made[driver.Stream](d.PlainNewStream(o))
}

// ImportStream implements driver.StreamImporter.
func (d *Device) ImportStream(handle uintptr) (driver.Stream, error) {
	if err := d.ask("ImportStream"); err != nil {
		return nil, err
	}
	if f := d.Layer.ImportStream; f != nil {
		return made[driver.Stream](f(d, handle))
	}
	i, ok := d.Device.(driver.StreamImporter)
	if !ok {
		return nil, d.lacks("ImportStream")
	}
	s, err := i.ImportStream(handle)
	if err != nil {
		return nil, err
	}
	return &Stream{Stream: s, Device: d}, nil
}

// PlainNewEvent makes an event.
func (d *Device) PlainNewEvent(o driver.EventOptions) (*Event, error) {
	e, err := d.Device.NewEvent(o)
	if err != nil {
		return nil, err
	}
	return &Event{Event: e, Device: d}, nil
}

// NewEvent implements driver.Device.
func (d *Device) NewEvent(o driver.EventOptions) (driver.Event, error) {
	if err := d.ask("NewEvent"); err != nil {
		return nil, err
	}
	if f := d.Layer.NewEvent; f != nil {
		return made[driver.Event](f(d, o))
	}
	return made[driver.Event](d.PlainNewEvent(o))
}

// PlainPeerAccess is the access that the devices below have to each other.
func (d *Device) PlainPeerAccess(other *Device) driver.PeerAccess {
	if p, ok := d.Device.(driver.Peering); ok {
		return p.PeerAccess(other.Device)
	}
	return 0
}

// PeerAccess implements driver.Peering. There is no access to devices of another layer.
func (d *Device) PeerAccess(other driver.Device) driver.PeerAccess {
	o, ok := other.(*Device)
	switch {
	case !ok || o.Layer != d.Layer:
		return 0
	case d.Layer.PeerAccess != nil:
		return d.Layer.PeerAccess(d, o)
	}
	return d.PlainPeerAccess(o)
}

// PointerInfo implements driver.PointerQuerier.
func (d *Device) PointerInfo(p uintptr) (driver.PointerInfo, error) {
	if err := d.ask("PointerInfo"); err != nil {
		return driver.PointerInfo{}, err
	}
	q, ok := d.Device.(driver.PointerQuerier)
	if !ok {
		return driver.PointerInfo{}, d.lacks("PointerInfo")
	}
	return q.PointerInfo(p)
}

// ExportIPC implements driver.IPCSharer.
func (d *Device) ExportIPC(m driver.Memory) (driver.IPCShare, error) {
	if err := d.ask("ExportIPC"); err != nil {
		return driver.IPCShare{}, err
	}
	s, ok := d.Device.(driver.IPCSharer)
	if !ok {
		return driver.IPCShare{}, d.lacks("ExportIPC")
	}
	return s.ExportIPC(m.(*Memory).Memory)
}

// OpenIPC implements driver.IPCSharer.
func (d *Device) OpenIPC(share driver.IPCShare) (driver.Memory, error) {
	if err := d.ask("OpenIPC"); err != nil {
		return nil, err
	}
	s, ok := d.Device.(driver.IPCSharer)
	if !ok {
		return nil, d.lacks("OpenIPC")
	}
	m, err := s.OpenIPC(share)
	return made[driver.Memory](d.wrap(m, driver.KindDevice, share.Size, err))
}

// Trim implements driver.Trimmer.
func (d *Device) Trim() {
	if f := d.Layer.Trim; f != nil {
		f(d)
	}
	if t, ok := d.Device.(driver.Trimmer); ok {
		t.Trim()
	}
}

// FreeMayBlock implements driver.FreeBlocker.
func (d *Device) FreeMayBlock() bool {
	b, ok := d.Device.(driver.FreeBlocker)
	return ok && b.FreeMayBlock()
}

// Close implements driver.Device.
func (d *Device) Close() error {
	return d.release("Close device", func() error {
		if f := d.Layer.CloseDevice; f != nil {
			return f(d)
		}
		return d.Device.Close()
	})
}
