package calllog

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// The optional interfaces of a device.

func (d *device) PeerAccess(other driver.Device) (access driver.PeerAccess) {
	p, ok := d.Device.(driver.Peering)
	if !ok {
		return 0
	}
	if o, ok := other.(*device); ok {
		other = o.Device
	}
	return p.PeerAccess(other)
}

func (d *device) Register(p unsafe.Pointer, size uint64) (driver.Memory, error) {
	var m driver.Memory
	err := optional(d, d.Device, "", "Register", size, func(r driver.Registerer) (err error) { m, err = r.Register(p, size); return err })
	return d.memory(m, err)
}

func (d *device) Import(kind driver.Kind, handle uintptr, size uint64) (driver.Memory, error) {
	var m driver.Memory
	err := optional(d, d.Device, "", "Import", size, func(i driver.Importer) (err error) { m, err = i.Import(kind, handle, size); return err })
	return d.memory(m, err)
}

func (d *device) ImportStream(handle uintptr) (driver.Stream, error) {
	var s driver.Stream
	err := optional(d, d.Device, "", "ImportStream", none, func(i driver.StreamImporter) (err error) { s, err = i.ImportStream(handle); return err })
	return d.stream(s, err)
}

func (d *device) PointerInfo(ptr uintptr) (info driver.PointerInfo, err error) {
	err = optional(d, d.Device, "", "PointerInfo", none, func(q driver.PointerQuerier) (err error) { info, err = q.PointerInfo(ptr); return err })
	return info, err
}

func (d *device) ExportIPC(m driver.Memory) (share driver.IPCShare, err error) {
	err = optional(d, d.Device, "", "ExportIPC", m.Size(), func(i driver.IPCSharer) (err error) { share, err = i.ExportIPC(raw(m)); return err })
	return share, err
}

func (d *device) OpenIPC(share driver.IPCShare) (driver.Memory, error) {
	var m driver.Memory
	err := optional(d, d.Device, "", "OpenIPC", share.Size, func(i driver.IPCSharer) (err error) { m, err = i.OpenIPC(share); return err })
	return d.memory(m, err)
}

func (d *device) Advise(r driver.Region, a driver.Advice, at driver.Device) error {
	call := "Advise " + a.String()
	switch o, ok := at.(*device); {
	case ok:
		call, at = call+" "+o.name, o.Device
	case at == nil && a.NamesPlace():
		call += " host"
	}
	return optional(d, d.Device, "", call, r.Len, func(i driver.Adviser) error { return i.Advise(below(r), a, at) })
}

func (d *device) FreeMayBlock() bool { return mayBlock(d.Device) }

func (d *device) EventsKeepFailures() bool {
	k, ok := d.Device.(driver.FailureKeeper)
	return ok && k.EventsKeepFailures()
}

func (d *device) ForgetsToldFailures() bool {
	k, ok := d.Device.(driver.FailureKeeper)
	return ok && k.ForgetsToldFailures()
}

func (d *device) Trim() {
	_ = optional(d, d.Device, "", "Trim", none, func(t driver.Trimmer) error { t.Trim(); return nil })
}

func (d *device) Handles() driver.Handles {
	if n, ok := d.Device.(driver.Native); ok {
		return n.Handles()
	}
	return driver.Handles{}
}

func (d *device) Formats() []driver.Format {
	if l, ok := d.Device.(driver.Loader); ok {
		return l.Formats()
	}
	return nil
}

func (d *device) Load(img *driver.Image) (driver.Module, error) {
	var m driver.Module
	err := optional(d, d.Device, "", "Load", uint64(len(img.Data)), func(l driver.Loader) (err error) { m, err = l.Load(img); return err })
	if err != nil {
		return nil, err
	}
	return &module{m, d}, nil
}

func (d *device) CompilerID(target string) (id string, err error) {
	err = optional(d, d.Device, "", "CompilerID", none, func(c driver.Compiler) (err error) { id, err = c.CompilerID(target); return err })
	return id, err
}

func (d *device) Compile(target string, src *driver.Source) (img *driver.Image, err error) {
	err = optional(d, d.Device, "", "Compile", uint64(len(src.Text)), func(c driver.Compiler) (err error) { img, err = c.Compile(target, src); return err })
	return img, err
}

// module is the layer around a module. Its kernels are those of the module below.
type module struct {
	driver.Module
	d *device
}

func (m *module) Kernel(name string) (k driver.Kernel, err error) {
	err = m.d.did("", "Kernel "+name, none, func() (err error) { k, err = m.Module.Kernel(name); return err })
	return k, err
}

func (m *module) Close() error { return m.d.did("", "Close module", none, m.Module.Close) }

func (m *module) FreeMayBlock() bool { return mayBlock(m.Module) }

// memory is the layer around memory.
type memory struct {
	driver.Memory
	d *device
}

func (m *memory) Free() error { return m.d.did("", "Free", m.Size(), m.Memory.Free) }

func (m *memory) FreeMayBlock() bool { return mayBlock(m.Memory) }

func (m *memory) NeedsMap() bool {
	n, ok := m.Memory.(driver.NeedsMapper)
	return ok && n.NeedsMap()
}

func mayBlock(below any) bool {
	b, ok := below.(driver.FreeBlocker)
	return ok && b.FreeMayBlock()
}

// raw returns the memory below the layer. Memory of a device that was opened before HALYARD_DEBUG had the word has no layer.
func raw(m driver.Memory) driver.Memory {
	if w, ok := m.(*memory); ok {
		return w.Memory
	}
	return m
}

func below(r driver.Region) driver.Region {
	r.Mem = raw(r.Mem)
	return r
}
