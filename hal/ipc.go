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

// IPCHandle names a memory for another process of the same machine, which opens it with [Device.OpenIPC]. It is
// a plain value: send it as bytes, as text or as a field of something larger.
type IPCHandle struct {
	Backend string // the backend's name, at most 16 bytes
	Device  UUID   // the hardware that has the memory
	Kind    Kind   // the kind of memory
	PID     uint32 // the process that exported it, for people
	Offset  uint64 // bytes from the start of the vendor's allocation
	Size    uint64 // bytes
	Handle  []byte // the vendor's name of the allocation, 1 to 256 bytes

	process uint64 // tells processes apart where numbers repeat; 0 if not known
}

// A handle in bytes, little-endian:
//
//	0   "HYIP"
//	4   version, 2
//	5   kind of memory
//	6   length of the handle, 2 bytes
//	8   backend's name, 16 bytes, padded with zeros
//	24  UUID of the device
//	40  number of the process, 4 bytes
//	44  zeros, 4 bytes
//	48  random number of the process
//	56  offset
//	64  size
//	72  handle
//	    CRC-32 (IEEE) of all that, 4 bytes
const (
	ipcMagic   = "HYIP"
	ipcVersion = 2
	ipcHandle  = 72
	ipcSum     = 4
	ipcName    = 16
	ipcLongest = 256
	ipcText    = "halyard-ipc:"
)

// thisProcess is a number that no other process has.
var thisProcess = sync.OnceValue(func() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it ends the program rather than fail
	return binary.LittleEndian.Uint64(b[:]) | 1
})

// validate reports what makes the handle one that nobody exported.
func (t *IPCHandle) validate(op string) error {
	bad := func(format string, args ...any) error {
		return Errorf(op, ErrInvalidArgument, "not a handle: "+format, args...)
	}
	switch {
	case t.Backend == "" || len(t.Backend) > ipcName || bytes.IndexByte([]byte(t.Backend), 0) >= 0:
		return bad("backend %q", t.Backend)
	case t.Kind != KindDevice && t.Kind != KindHost && t.Kind != KindShared:
		return bad("%v is no kind of memory", t.Kind)
	case t.Size == 0 || t.Size > math.MaxInt64 || t.Offset > math.MaxInt64-t.Size:
		return bad("%d bytes from %d on", t.Size, t.Offset)
	case len(t.Handle) == 0 || len(t.Handle) > ipcLongest:
		return bad("a handle of %d bytes", len(t.Handle))
	}
	return nil
}

// MarshalBinary implements encoding.BinaryMarshaler. A handle that nobody can have exported is of kind
// ErrInvalidArgument.
func (t IPCHandle) MarshalBinary() ([]byte, error) { return t.AppendBinary(nil) }

// AppendBinary implements encoding.BinaryAppender, under the rules of MarshalBinary.
func (t IPCHandle) AppendBinary(b []byte) ([]byte, error) {
	if err := t.validate("write a handle"); err != nil {
		return b, err
	}
	start := len(b)
	le := binary.LittleEndian
	b = append(b, ipcMagic...)
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
	return le.AppendUint32(b, crc32.ChecksumIEEE(b[start:])), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. Bytes that are not exactly those of one handle are of
// kind ErrInvalidArgument, and leave t as it was.
func (t *IPCHandle) UnmarshalBinary(b []byte) error {
	const op = "read a handle"
	bad := func(format string, args ...any) error {
		return Errorf(op, ErrInvalidArgument, "not a handle: "+format, args...)
	}
	le := binary.LittleEndian
	if len(b) < ipcHandle+ipcSum || string(b[:4]) != ipcMagic {
		return bad("%d bytes of something else", len(b))
	}
	if b[4] != ipcVersion {
		return bad("version %d, not %d", b[4], ipcVersion)
	}
	end := ipcHandle + int(le.Uint16(b[6:]))
	if len(b) != end+ipcSum {
		return bad("%d bytes instead of %d", len(b), end+ipcSum)
	}
	if crc32.ChecksumIEEE(b[:end]) != le.Uint32(b[end:]) {
		return bad("the checksum is wrong")
	}
	name, padding, _ := bytes.Cut(b[8:8+ipcName], []byte{0})
	if len(bytes.Trim(padding, "\x00")) > 0 || le.Uint32(b[44:]) != 0 {
		return bad("something between the fields")
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

// MarshalText implements encoding.TextMarshaler: one word of printable ASCII. Its errors are those of
// MarshalBinary.
func (t IPCHandle) MarshalText() ([]byte, error) {
	b, err := t.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return base64.RawURLEncoding.AppendEncode([]byte(ipcText), b), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. Text that MarshalText does not write is of kind
// ErrInvalidArgument, and leaves t as it was.
func (t *IPCHandle) UnmarshalText(text []byte) error {
	const op = "read a handle"
	rest, ok := bytes.CutPrefix(text, []byte(ipcText))
	if !ok || bytes.ContainsAny(rest, "\r\n") { // which the decoder would skip
		return Errorf(op, ErrInvalidArgument, "not a handle: %d bytes of other text", len(text))
	}
	b, err := base64.RawURLEncoding.Strict().AppendDecode(nil, rest)
	if err != nil {
		return &Error{Op: op, Device: -1, Kind: ErrInvalidArgument, Detail: "not a handle", Err: err}
	}
	return t.UnmarshalBinary(b)
}

// IPCHandle names the memory for other processes. It needs CapIPC; memory that the vendor does not share is
// of kind ErrUnsupported, which is all but memory of KindDevice from [Device.Alloc] today.
//
// Nothing but the memory itself is shared: who reads what was written, and when, is for the
// processes to agree on, and work of one is ordered with work of the other only by waiting for it and
// telling the other process. The memory stays open here until every importer has closed it. On CUDA and on
// HIP what an importer sees after that is undefined, and nobody warns.
func (m *Memory) IPCHandle() (IPCHandle, error) {
	const op = "ipc handle"
	s := m.state()
	if s == nil {
		return IPCHandle{}, noMemory(op)
	}
	if !s.enter() {
		return IPCHandle{}, s.dev.failure(op, ErrClosed, "the memory is closed")
	}
	defer s.leave()
	d, ok := s.dev.drv.(driver.IPCSharer)
	if !ok || !s.dev.info.Caps.Has(CapIPC) {
		return IPCHandle{}, s.dev.failure(op, ErrUnsupported, "the device does not share memory between processes")
	}
	if err := s.dev.begin(op); err != nil {
		return IPCHandle{}, err
	}
	defer s.dev.end()
	share, err := d.ExportIPC(s.drv)
	if err != nil {
		return IPCHandle{}, s.dev.check(err)
	}
	return IPCHandle{
		Backend: s.dev.info.Backend, Device: s.dev.info.UUID, Kind: s.kind,
		PID: uint32(os.Getpid()), Offset: share.Offset, Size: share.Size, Handle: share.Handle,
		process: thisProcess(),
	}, nil
}

// OpenIPC opens memory of another process, on the device that has it. Closing the Memory closes it here alone,
// once the work that uses it has finished. It is not counted in Usage.
//
// A handle of another backend or of other hardware is of kind ErrWrongDevice; one of this very process, which the
// vendors do not open, and one that nobody exported are of kind ErrInvalidArgument; one that reaches past
// the end of the exporter's allocation is of kind ErrOutOfRange; a device without CapIPC is of kind ErrUnsupported.
func (d *Device) OpenIPC(t IPCHandle) (*Memory, error) {
	const op = "open ipc handle"
	s := d.state()
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer s.end()
	sharer, ok := s.drv.(driver.IPCSharer)
	if !ok || !s.info.Caps.Has(CapIPC) {
		return nil, s.failure(op, ErrUnsupported, "the device does not share memory between processes")
	}
	if err := t.validate(op); err != nil {
		return nil, err
	}
	switch {
	case t.Backend != s.info.Backend:
		return nil, s.failure(op, ErrWrongDevice, "the handle is of a device of %s", t.Backend)
	case t.Device != s.info.UUID:
		return nil, s.failure(op, ErrWrongDevice, "the handle is of the device %s, not %s", t.Device, s.info.UUID)
	case t.process == thisProcess():
		return nil, s.failure(op, ErrInvalidArgument, "the handle is of this process, which has the memory already")
	case t.Kind != KindDevice:
		return nil, s.failure(op, ErrUnsupported, "%v memory is not shared between processes", t.Kind)
	}
	drv, err := sharer.OpenIPC(driver.IPCShare{Handle: t.Handle, Offset: t.Offset, Size: t.Size})
	if err != nil {
		return nil, s.check(err)
	}
	return newMemory(d, op, drv, t.Kind, t.Size, shared, nil)
}
