package hal

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

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

// A handle in bytes, little-endian:
//
//	0   "HYIP"
//	4   version, 2
//	5   kind of memory
//	6   length of the handle, 2 bytes
//	8   backend's name, 16 bytes, padded with zeros
//	24  UUID of the device
//	40  ID of the process, 4 bytes
//	44  zeros, 4 bytes
//	48  random number of the process
//	56  offset
//	64  size
//	72  handle
//	    CRC-32 (IEEE) of all bytes before it, 4 bytes
const (
	ipcMagic   = "HYIP"
	ipcVersion = 2
	ipcHandle  = 72
	ipcSum     = 4
	ipcName    = 16
	ipcLongest = 256
	ipcText    = "halyard-ipc:"
)

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
	le := binary.LittleEndian
	b := append([]byte(nil), ipcMagic...)
	b = append(b, ipcVersion, byte(t.Kind))
	b = le.AppendUint16(b, uint16(len(t.Handle)))
	b = append(b, t.Backend...)
	b = append(b, make([]byte, ipcName-len(t.Backend))...)
	b = append(b, t.Device[:]...)
	b = le.AppendUint32(b, t.PID)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint64(b, t.process)
	b = le.AppendUint64(b, t.Offset)
	b = le.AppendUint64(b, t.Size)
	b = append(b, t.Handle...)
	return le.AppendUint32(b, crc32.ChecksumIEEE(b)), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. If b is not exactly one valid handle, the error is of
// kind ErrInvalidArgument and t is unchanged.
func (t *IPCHandle) UnmarshalBinary(b []byte) error {
	const op = "read a handle"
	bad := func(format string, args ...any) error {
		return Errorf(op, ErrInvalidArgument, "not an IPC handle: "+format, args...)
	}
	le := binary.LittleEndian
	if len(b) < ipcHandle+ipcSum || string(b[:4]) != ipcMagic {
		return bad("%d bytes without an IPC handle's header", len(b))
	}
	if b[4] != ipcVersion {
		return bad("version %d, expected %d", b[4], ipcVersion)
	}
	end := ipcHandle + int(le.Uint16(b[6:]))
	if len(b) != end+ipcSum {
		return bad("%d bytes, expected %d", len(b), end+ipcSum)
	}
	if crc32.ChecksumIEEE(b[:end]) != le.Uint32(b[end:]) {
		return bad("the checksum is wrong")
	}
	name, padding, _ := bytes.Cut(b[8:8+ipcName], []byte{0})
	if len(bytes.Trim(padding, "\x00")) > 0 || le.Uint32(b[44:]) != 0 {
		return bad("reserved bytes are not zero")
	}
	fresh := IPCHandle{
		Backend: string(name), Device: UUID(b[24:40]), Kind: Kind(b[5]), PID: le.Uint32(b[40:]),
		process: le.Uint64(b[48:]), Offset: le.Uint64(b[56:]), Size: le.Uint64(b[64:]),
		Handle: bytes.Clone(b[ipcHandle:end]),
	}
	if err := fresh.validate(op); err != nil {
		return err
	}
	*t = fresh
	return nil
}

// MarshalText implements encoding.TextMarshaler. The text is one word of printable ASCII. The errors are those of
// MarshalBinary.
func (t IPCHandle) MarshalText() ([]byte, error) {
	b, err := t.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return base64.RawURLEncoding.AppendEncode([]byte(ipcText), b), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. If the text is not one that MarshalText writes, the error is of
// kind ErrInvalidArgument and t is unchanged.
func (t *IPCHandle) UnmarshalText(text []byte) error {
	const op = "read a handle"
	rest, ok := bytes.CutPrefix(text, []byte(ipcText))
	if !ok || bytes.ContainsAny(rest, "\r\n") { // the decoder would skip line breaks
		return Errorf(op, ErrInvalidArgument, "not an IPC handle: unrecognized text of %d bytes", len(text))
	}
	b, err := base64.RawURLEncoding.Strict().AppendDecode(nil, rest)
	if err != nil {
		return &Error{Op: op, Device: -1, Kind: ErrInvalidArgument, Detail: "not an IPC handle", Err: err}
	}
	return t.UnmarshalBinary(b)
}

// IPCHandle exports the memory to other processes. It needs CapIPC. At present only memory of KindDevice from
// [Device.Alloc] can be shared; for other memory the error is of kind ErrUnsupported.
//
// Only the memory itself is shared. The processes have to synchronise themselves: one waits for its work on the
// host and then tells the other. The memory must stay open here until every importer has closed it; on CUDA and
// HIP the contents that an importer sees after that are undefined, and no error is reported.
func (m *Memory) IPCHandle() (IPCHandle, error) {
	const op = "ipc handle"
	s := m.state()
	if s == nil {
		return IPCHandle{}, noMemory(op)
	}
	if !s.Enter() {
		return IPCHandle{}, s.dev.Failure(op, ErrClosed, "the memory is closed")
	}
	defer s.Leave()
	d, ok := s.dev.Drv.(driver.IPCSharer)
	if !ok || !s.dev.Info.Caps.Has(CapIPC) || s.size == 0 {
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
	defer s.end()
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
	return newMemory(d, op, &memoryState{drv: drv, kind: t.Kind, size: t.Size, origin: shared})
}
