package hal

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// ExternalMemory describes memory that another library or the program itself allocated.
type ExternalMemory struct {
	// Kind is the kind of memory.
	Kind Kind

	// Handle has the meaning of [Memory.Handle] on the device: the memory's address on the device,
	// a pointer to unified shared memory or SVM, a cl_mem of the device's own context, or
	// on the host any address that the process may read and write.
	//
	// To Go it is only a number. If it is the address of Go memory, a [runtime.Pinner] must hold that memory until
	// Release, or it may move or be collected. [Device.Register] and buffer.AdoptSlice hold the memory themselves.
	Handle uintptr

	// Size is in bytes. If it is 0, the handle is not looked at.
	Size uint64

	// Release, unless it is nil, is called once when the library no longer needs the memory: after Close and
	// after the last work that uses the memory. It may keep an owner alive by closing over it, and may free
	// the memory.
	//
	// If no work uses the memory when it is closed, Close calls Release before it returns. Otherwise
	// Release runs on a new goroutine, never on a thread of the vendor's; a panic there ends the program. It may use
	// the device, but must not wait for it to be closed or reclaimed.
	Release func()
}

// Import makes a Memory of memory that already exists. It behaves like memory from Alloc, with regions,
// checks and leak reports, but it is not counted in Usage and not freed. Once it is closed and no work
// uses it any more, Release is called instead. Until then its owner must keep the memory valid.
// Import does not know of the owner's own work on the memory: make streams wait for that work first.
//
// A part of the program's own memory may be imported too, to get a Memory for an address in it: the handle plus an offset, where a
// handle is an address (CapAddress). [Device.PointerInfo] finds the allocation. The owner must then be closed after the part.
//
// The arguments are checked against the vendor's records, if the vendor has them (CapPointerInfo). The error is of kind
// ErrInvalidArgument for a handle of 0 unless the size is 0 too, memory of another kind, or an address unknown to the vendor;
// ErrWrongDevice for memory of another device or context; ErrOutOfRange if the size exceeds the allocation;
// ErrMisaligned for an address that is not a multiple of 8 where fills need that (OpenCL); and ErrUnsupported on
// a device without CapImport. After an error Release is not called.
//
// Elsewhere Import believes the caller. Only the backend host, and OpenCL without unified shared memory if the device shares the host's
// memory, check that the first and the last byte can be read; the host knows which memory belongs to its discrete devices. Of a cl_mem
// it checks that the first word is that of an object of the same driver; whether the driver survives a handle that is stale, or of
// another kind of object, is up to the driver. On HIP without pointer queries it checks nothing of device memory.
func (d *Device) Import(f ExternalMemory) (*Memory, error) {
	const op = "import"
	s := d.state()
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer d.end()
	a, ok := s.Drv.(driver.Importer)
	info := &s.Info
	switch {
	case !ok || !info.Caps.Has(CapImport):
		return nil, s.Failure(op, ErrUnsupported, "importing memory is not supported")
	case f.Kind != KindDevice && f.Kind != KindHost && f.Kind != KindShared:
		return nil, s.Failure(op, ErrInvalidArgument, "invalid memory kind %v", f.Kind)
	case f.Handle == 0 && f.Size > 0:
		return nil, s.Failure(op, ErrInvalidArgument, "handle 0")
	case f.Kind == KindShared && !info.Caps.Has(CapShared):
		return nil, s.Failure(op, ErrUnsupported, "shared memory is not supported")
	case f.Size > math.MaxInt || f.Size > 0 && info.Caps.Has(CapAddress) && f.Size-1 > uint64(^uintptr(0)-f.Handle):
		return nil, s.Failure(op, ErrOutOfRange, "%d bytes at %#x exceed the address space", f.Size, f.Handle)
	}
	var drv driver.Memory = noBytes{}
	if f.Size > 0 {
		var err error
		if drv, err = a.Import(f.Kind, f.Handle, f.Size); err != nil {
			return nil, s.Check(err)
		}
	}
	m := &memoryState{drv: drv, kind: f.Kind, origin: imported}
	m.Then = f.Release
	return newMemory(d, op, f.Size, m)
}

// ImportStream makes a Stream of a vendor's stream that already exists on the same device: a CUstream, a hipStream_t, a cl_command_queue,
// or on the host a stream of this process. The owner may go on using it; all work runs in the order in which it was enqueued. On CUDA and
// HIP 0 is the legacy default stream. The per-thread default stream is refused with kind ErrUnsupported, because goroutines move between
// threads.
//
// The owner of the vendor's stream must keep it until release is called. release is called once, after Close
// and after the work enqueued before Close, under the rules of [ExternalMemory].Release; it may be nil.
// Close does not destroy the vendor's stream.
//
// The error is of kind ErrInvalidArgument if the vendor knows no such stream, or for an OpenCL queue that is not
// in-order; ErrWrongDevice for a stream of another device or context; and ErrUnsupported on a device without
// CapImportStream. A number that is no handle at all is refused where the driver can tell (CUDA, the host), and on OpenCL if its first word
// is not that of an object of the same driver; elsewhere a stale handle may end the process, as it does in C.
func (d *Device) ImportStream(handle uintptr, release func()) (*Stream, error) {
	const op = "import a stream"
	s := d.state()
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer d.end()
	a, ok := s.Drv.(driver.StreamImporter)
	if !ok || !s.Info.Caps.Has(CapImportStream) {
		return nil, s.Failure(op, ErrUnsupported, "importing streams is not supported")
	}
	drv, err := a.ImportStream(handle)
	if err != nil {
		return nil, s.Check(err)
	}
	st := makeStream(s, drv)
	st.imported, st.Then = true, release
	return newStream(d, op, st)
}

// PointerInfo describes the memory at an address of a device or of the host. The error is of kind ErrInvalidArgument
// if the vendor does not know the address, and ErrUnsupported on a device without CapPointerInfo.
func (d *Device) PointerInfo(ptr uintptr) (PointerInfo, error) {
	const op = "query a pointer"
	s := d.state()
	if err := d.begin(op); err != nil {
		return PointerInfo{}, err
	}
	defer d.end()
	q, ok := s.Drv.(driver.PointerQuerier)
	switch {
	case !ok || !s.Info.Caps.Has(CapPointerInfo):
		return PointerInfo{}, s.Failure(op, ErrUnsupported, "pointer queries are not supported")
	case ptr == 0:
		return PointerInfo{}, s.Failure(op, ErrInvalidArgument, "pointer 0")
	}
	info, err := q.PointerInfo(ptr)
	return info, s.Check(err)
}

// IPCHandle identifies a memory for another process on the same machine, which opens it with [Device.OpenIPC]. It is
// a plain value: send it as bytes, as text or as a field of a larger message.
type IPCHandle struct {
	Backend string // the backend's name, at most 16 bytes
	Device  UUID   // the hardware that holds the memory
	Kind    Kind   // the kind of memory
	PID     uint32 // the process that exported it; informative only
	Offset  uint64 // bytes from the start of the vendor's allocation
	Size    uint64 // bytes
	Handle  []byte // the vendor's handle of the allocation, 1 to 256 bytes

	process uint64 // random number of the process, since a PID can be reused; 0 if not known
}

const (
	ipcMagic   = "HYIP"
	ipcVersion = 2
	ipcSum     = 4 // bytes of the checksum
	ipcName    = 16
	ipcLongest = 256
)

// ipcHeader is how a handle begins in bytes, little-endian. The vendor's handle follows, and a CRC-32 (IEEE) of all bytes before it.
type ipcHeader struct {
	Magic    [len(ipcMagic)]byte
	Version  uint8
	Kind     Kind
	Length   uint16        // of the vendor's handle
	Backend  [ipcName]byte // padded with zeros
	Device   UUID
	PID      uint32
	Reserved uint32 // zero
	Process  uint64
	Offset   uint64
	Size     uint64
}

// thisProcess returns a random number that identifies this process.
var thisProcess = sync.OnceValue(func() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never returns an error: it ends the program instead
	return binary.LittleEndian.Uint64(b[:]) | 1
})

// validate returns an error if the handle cannot have been exported.
func (t *IPCHandle) validate(op string) error {
	bad := func(format string, args ...any) error {
		return Errorf(op, ErrInvalidArgument, "not an IPC handle: "+format, args...)
	}
	switch {
	case t.Backend == "" || len(t.Backend) > ipcName || bytes.IndexByte([]byte(t.Backend), 0) >= 0:
		return bad("invalid backend name %q", t.Backend)
	case t.Kind != KindDevice && t.Kind != KindHost && t.Kind != KindShared:
		return bad("invalid memory kind %v", t.Kind)
	case t.Size == 0 || t.Size > math.MaxInt64 || t.Offset > math.MaxInt64-t.Size:
		return bad("invalid size %d at offset %d", t.Size, t.Offset)
	case len(t.Handle) == 0 || len(t.Handle) > ipcLongest:
		return bad("vendor handle of %d bytes", len(t.Handle))
	}
	return nil
}

// MarshalBinary implements encoding.BinaryMarshaler. The error is of kind ErrInvalidArgument if a field is
// invalid.
func (t IPCHandle) MarshalBinary() ([]byte, error) {
	if err := t.validate("write a handle"); err != nil {
		return nil, err
	}
	h := ipcHeader{Magic: [len(ipcMagic)]byte([]byte(ipcMagic)), Version: ipcVersion, Kind: t.Kind, Length: uint16(len(t.Handle)),
		Device: t.Device, PID: t.PID, Process: t.process, Offset: t.Offset, Size: t.Size}
	copy(h.Backend[:], t.Backend)
	b, err := binary.Append(nil, binary.LittleEndian, &h)
	b = append(b, t.Handle...)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), err
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. If b is not exactly one valid handle, the error is of
// kind ErrInvalidArgument and t is unchanged.
func (t *IPCHandle) UnmarshalBinary(b []byte) error {
	const op = "read a handle"
	bad := func(format string, args ...any) error {
		return Errorf(op, ErrInvalidArgument, "not an IPC handle: "+format, args...)
	}
	var h ipcHeader
	n, err := binary.Decode(b, binary.LittleEndian, &h)
	end := n + int(h.Length)
	name, padding, _ := bytes.Cut(h.Backend[:], []byte{0})
	switch {
	case err != nil || string(h.Magic[:]) != ipcMagic:
		return bad("%d bytes without an IPC handle's header", len(b))
	case h.Version != ipcVersion:
		return bad("version %d, expected %d", h.Version, ipcVersion)
	case len(b) != end+ipcSum:
		return bad("%d bytes, expected %d", len(b), end+ipcSum)
	case crc32.ChecksumIEEE(b[:end]) != binary.LittleEndian.Uint32(b[end:]):
		return bad("the checksum is wrong")
	case len(bytes.Trim(padding, "\x00")) > 0 || h.Reserved != 0:
		return bad("reserved bytes are not zero")
	}
	fresh := IPCHandle{Backend: string(name), Device: h.Device, Kind: h.Kind, PID: h.PID, process: h.Process, Offset: h.Offset, Size: h.Size,
		Handle: bytes.Clone(b[n:end])}
	if err := fresh.validate(op); err != nil {
		return err
	}
	*t = fresh
	return nil
}

// IPCHandle exports the memory to other processes. It needs CapIPC. At present only memory of KindDevice from
// [Device.Alloc] can be shared; for other memory the error is of kind ErrUnsupported.
//
// Only the memory itself is shared. The processes have to synchronise themselves: one waits for its work on the
// host and then tells the other. The memory must stay open here until every importer has closed it; on CUDA and
// HIP the contents that an importer sees after that are undefined, and no error is reported.
func (m *Memory) IPCHandle() (IPCHandle, error) {
	const op = "ipc handle"
	s, err := m.enter(op)
	if err != nil {
		return IPCHandle{}, err
	}
	defer m.leave()
	d, ok := s.dev.Drv.(driver.IPCSharer)
	if !ok || !s.dev.Info.Caps.Has(CapIPC) || s.Size == 0 {
		return IPCHandle{}, s.dev.Failure(op, ErrUnsupported, "sharing memory between processes is not supported")
	}
	if err := s.dev.begin(op); err != nil {
		return IPCHandle{}, err
	}
	defer s.dev.end()
	share, err := d.ExportIPC(s.drv)
	if err != nil {
		return IPCHandle{}, s.dev.Check(err)
	}
	return IPCHandle{
		Backend: s.dev.Info.Backend, Device: s.dev.Info.UUID, Kind: s.kind,
		PID: uint32(os.Getpid()), Offset: share.Offset, Size: share.Size, Handle: share.Handle,
		process: thisProcess(),
	}, nil
}

// OpenIPC opens memory that another process exported, on the device that holds it. Close closes the memory in this process only,
// once the work that uses it has finished. The memory is not counted in Usage.
//
// The error is of kind ErrWrongDevice for a handle of another backend or of other hardware; ErrInvalidArgument for an
// invalid handle, and for one that this process exported, which the vendors refuse to open; ErrOutOfRange if the range
// exceeds the exporter's allocation; and ErrUnsupported on a device without CapIPC.
func (d *Device) OpenIPC(t IPCHandle) (*Memory, error) {
	const op = "open ipc handle"
	s := d.state()
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer d.end()
	sharer, ok := s.Drv.(driver.IPCSharer)
	if !ok || !s.Info.Caps.Has(CapIPC) {
		return nil, s.Failure(op, ErrUnsupported, "sharing memory between processes is not supported")
	}
	if err := t.validate(op); err != nil {
		return nil, err
	}
	switch {
	case t.Backend != s.Info.Backend:
		return nil, s.Failure(op, ErrWrongDevice, "the handle belongs to backend %s", t.Backend)
	case t.Device != s.Info.UUID:
		return nil, s.Failure(op, ErrWrongDevice, "the handle belongs to device %s, not %s", t.Device, s.Info.UUID)
	case t.process == thisProcess():
		return nil, s.Failure(op, ErrInvalidArgument, "the handle was exported by this process")
	case t.Kind != KindDevice:
		return nil, s.Failure(op, ErrUnsupported, "sharing %v memory between processes is not supported", t.Kind)
	}
	drv, err := sharer.OpenIPC(driver.IPCShare{Handle: t.Handle, Offset: t.Offset, Size: t.Size})
	if err != nil {
		return nil, s.Check(err)
	}
	return newMemory(d, op, t.Size, &memoryState{drv: drv, kind: t.Kind, origin: shared})
}
