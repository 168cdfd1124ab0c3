package cudahip

import (
	"bytes"
	"math"
	"runtime"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// Table is the API of a library that was found while the program runs. A call of the
// table makes the context current and calls the library in one crossing from Go to C,
// and does not allocate.
//
// The methods pass their arguments in the form that both vendors share. If a vendor's call differs,
// the vendor's package embeds the table and replaces the method by one that uses [Table.Call],
// [Table.Make] or [Table.Ask].
type Table struct {
	names Symbols
	procs [NumCalls]uintptr
	calls *dl.Callbacks
	ipc   uint32 // flags of IPCOpen
}

// NewTable looks up the calls of a vendor in its library. If symbols are missing that are not
// optional, the error is a [dl.MissingError] that names them all.
//
// calls is the entry for host functions of one argument.
func NewTable(lib *dl.Library, names *Symbols, calls *dl.Callbacks) (*Table, error) {
	t := &Table{names: *names, calls: calls, ipc: 1}
	lack := &dl.MissingError{Library: lib.Name()}
	for c, s := range names {
		if s.Name == "" {
			continue
		}
		p := lib.Proc(s.Name)
		if !p.Valid() && s.Older != "" {
			t.names[c].Name = s.Older
			p = lib.Proc(s.Older)
		}
		if !p.Valid() && !s.Optional {
			lack.Symbols = append(lack.Symbols, s.Name)
		}
		t.procs[c] = uintptr(p)
	}
	if len(lack.Symbols) > 0 {
		return nil, lack
	}
	return t, nil
}

// SetIPCFlags sets the flags with which handles of other processes are opened.
func (t *Table) SetIPCFlags(flags uint32) { t.ipc = flags }

// Name implements [API].
func (t *Table) Name(c Call) string { return t.names[c].Name }

// Has implements [API].
func (t *Table) Has(c Call) bool { return t.procs[c] != 0 }

func (t *Table) frame(c Call, ctx Context) *frame {
	f := frames.Get().(*frame)
	f.bind, f.ctx, f.fn = t.procs[CallMakeCurrent], uintptr(ctx), t.procs[c]
	return f
}

func unboundFrame(fn uintptr) *frame {
	f := frames.Get().(*frame)
	f.bind, f.fn = 0, fn
	return f
}

// Call makes ctx current and calls c with up to six arguments.
func (t *Table) Call(c Call, ctx Context, a0, a1, a2, a3, a4, a5 uintptr) Code {
	f := t.frame(c, ctx)
	f.args[0], f.args[1], f.args[2], f.args[3], f.args[4], f.args[5] = a0, a1, a2, a3, a4, a5
	code := f.call()
	f.put()
	return code
}

// Make makes ctx current and calls c, whose first argument points to a word for its result.
func (t *Table) Make(c Call, ctx Context, a1, a2, a3 uintptr) (uintptr, Code) {
	f := t.frame(c, ctx)
	f.out[0] = 0
	f.args[0], f.args[1], f.args[2], f.args[3] = f.outAddr(0), a1, a2, a3
	code := f.call()
	r := uintptr(f.out[0])
	f.put()
	return r, code
}

// pair makes ctx current and calls c, whose first two arguments point to words for its results.
func (t *Table) pair(c Call, ctx Context, a2 uintptr) (r0, r1 uint64, code Code) {
	f := t.frame(c, ctx)
	f.out[0], f.out[1] = 0, 0
	f.args[0], f.args[1], f.args[2] = f.outAddr(0), f.outAddr(1), a2
	code = f.call()
	r0, r1 = f.out[0], f.out[1]
	f.put()
	return r0, r1, code
}

// Ask calls c, which needs no context. Its first argument points to up to 64 bits for its result.
func (t *Table) Ask(c Call, a1, a2 uintptr) (uint64, Code) {
	f := unboundFrame(t.procs[c])
	f.out[0] = 0
	f.args[0], f.args[1], f.args[2] = f.outAddr(0), a1, a2
	code := f.call()
	r := f.out[0]
	f.put()
	return r, code
}

// Init implements [API].
func (t *Table) Init() Code {
	f := unboundFrame(t.procs[CallInit])
	f.args[0] = noInitFlags
	defer f.put()
	return f.call()
}

// Version implements [API].
func (t *Table) Version() (int, Code) {
	v, code := t.Ask(CallVersion, 0, 0)
	return int(int32(v)), code
}

// DeviceCount implements [API].
func (t *Table) DeviceCount() (int, Code) {
	n, code := t.Ask(CallDeviceCount, 0, 0)
	return int(int32(n)), code
}

// DeviceGet implements [API].
func (t *Table) DeviceGet(ordinal int) (int32, Code) {
	dev, code := t.Ask(CallDeviceGet, uintptr(ordinal), 0)
	return int32(dev), code
}

// DeviceName implements [API].
func (t *Table) DeviceName(dev int32) (string, Code) {
	return t.text(CallDeviceName, deviceNameSize, dev)
}

// DeviceBus implements [API].
func (t *Table) DeviceBus(dev int32) (string, Code) {
	return t.text(CallDeviceBus, deviceBusSize, dev)
}

func (t *Table) text(c Call, size int, dev int32) (string, Code) {
	f := unboundFrame(t.procs[c])
	f.text = [deviceNameSize]byte{}
	f.args[0], f.args[1], f.args[2] = uintptr(unsafe.Pointer(&f.text)), uintptr(size), uintptr(dev)
	code := f.call()
	b := f.text[:size]
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	s := string(b)
	f.put()
	return s, code
}

// DeviceTotal implements [API].
func (t *Table) DeviceTotal(dev int32) (uint64, Code) {
	return t.Ask(CallDeviceTotal, uintptr(dev), 0)
}

// DeviceAttribute implements [API].
func (t *Table) DeviceAttribute(dev, number int32) (int32, Code) {
	v, code := t.Ask(CallDeviceAttribute, uintptr(number), uintptr(dev))
	return int32(v), code
}

// DeviceUUID implements [API].
func (t *Table) DeviceUUID(dev int32) (uuid [16]byte, code Code) {
	f := unboundFrame(t.procs[CallDeviceUUID])
	f.out[0], f.out[1] = 0, 0
	f.args[0], f.args[1] = f.outAddr(0), uintptr(dev)
	code = f.call()
	uuid = *(*[16]byte)(unsafe.Pointer(&f.out))
	f.put()
	return uuid, code
}

// CanAccessPeer implements [API].
func (t *Table) CanAccessPeer(dev, peer int32) (bool, Code) {
	can, code := t.Ask(CallCanAccessPeer, uintptr(dev), uintptr(peer))
	return int32(can) != 0, code
}

// Retain implements [API].
func (t *Table) Retain(dev int32) (Context, Code) {
	ctx, code := t.Ask(CallRetain, uintptr(dev), 0)
	return Context(ctx), code
}

// Release implements [API].
func (t *Table) Release(dev int32) Code {
	f := unboundFrame(t.procs[CallRelease])
	f.args[0] = uintptr(dev)
	defer f.put()
	return f.call()
}

// PeerEnable implements [API].
func (t *Table) PeerEnable(ctx, peer Context) Code {
	return t.Call(CallPeerEnable, ctx, uintptr(peer), noPeerFlags, 0, 0, 0, 0)
}

// MemInfo implements [API].
func (t *Table) MemInfo(ctx Context) (free, total uint64, code Code) {
	return t.pair(CallMemInfo, ctx, 0)
}

// MemAlloc implements [API].
func (t *Table) MemAlloc(ctx Context, size uint64) (uintptr, Code) {
	return t.Make(CallMemAlloc, ctx, uintptr(size), 0, 0)
}

// MemFree implements [API].
func (t *Table) MemFree(ctx Context, addr uintptr) Code {
	return t.Call(CallMemFree, ctx, addr, 0, 0, 0, 0, 0)
}

// HostAlloc implements [API].
func (t *Table) HostAlloc(ctx Context, size uint64) (uintptr, Code) {
	return t.Make(CallHostAlloc, ctx, uintptr(size), hostPortable|hostMapped, 0)
}

// HostFree implements [API].
func (t *Table) HostFree(ctx Context, host uintptr) Code {
	return t.Call(CallHostFree, ctx, host, 0, 0, 0, 0, 0)
}

// HostRegister implements [API].
func (t *Table) HostRegister(ctx Context, host uintptr, size uint64) Code {
	return t.Call(CallHostRegister, ctx, host, uintptr(size), hostPortable|hostMapped, 0, 0, 0)
}

// HostUnregister implements [API].
func (t *Table) HostUnregister(ctx Context, host uintptr) Code {
	return t.Call(CallHostUnregister, ctx, host, 0, 0, 0, 0, 0)
}

// HostAddr implements [API].
func (t *Table) HostAddr(ctx Context, host uintptr) (uintptr, Code) {
	return t.Make(CallHostAddr, ctx, host, 0, 0)
}

// ManagedAlloc implements [API].
func (t *Table) ManagedAlloc(ctx Context, size uint64) (uintptr, Code) {
	return t.Make(CallManagedAlloc, ctx, uintptr(size), managedGlobal, 0)
}

// AllocAsync implements [API].
func (t *Table) AllocAsync(ctx Context, size uint64, stream uintptr) (uintptr, Code) {
	return t.Make(CallAllocAsync, ctx, uintptr(size), stream, 0)
}

// FreeAsync implements [API].
func (t *Table) FreeAsync(ctx Context, addr, stream uintptr) Code {
	return t.Call(CallFreeAsync, ctx, addr, stream, 0, 0, 0, 0)
}

// AddressRange implements [API].
func (t *Table) AddressRange(ctx Context, addr uintptr) (base, size uintptr, code Code) {
	b, n, code := t.pair(CallAddressRange, ctx, addr)
	return uintptr(b), uintptr(n), code
}

// CopyIn implements [API].
func (t *Table) CopyIn(ctx Context, dst, host, n, stream uintptr) Code {
	return t.Call(CallCopyIn, ctx, dst, host, n, stream, 0, 0)
}

// CopyOut implements [API].
func (t *Table) CopyOut(ctx Context, host, src, n, stream uintptr) Code {
	return t.Call(CallCopyOut, ctx, host, src, n, stream, 0, 0)
}

// CopyDevice implements [API].
func (t *Table) CopyDevice(ctx Context, dst, src, n, stream uintptr) Code {
	return t.Call(CallCopyDevice, ctx, dst, src, n, stream, 0, 0)
}

// CopyAny implements [API].
func (t *Table) CopyAny(ctx Context, dst, src, n, stream uintptr) Code {
	return t.Call(CallCopyAny, ctx, dst, src, n, stream, 0, 0)
}

// CopyPeer implements [API].
func (t *Table) CopyPeer(ctx Context, dst uintptr, dstCtx Context, src uintptr, srcCtx Context, n, stream uintptr) Code {
	return t.Call(CallCopyPeer, ctx, dst, uintptr(dstCtx), src, uintptr(srcCtx), n, stream)
}

// Fill8 implements [API].
func (t *Table) Fill8(ctx Context, dst uintptr, v uint8, count, stream uintptr) Code {
	return t.Call(CallFill8, ctx, dst, uintptr(v), count, stream, 0, 0)
}

// Fill16 implements [API].
func (t *Table) Fill16(ctx Context, dst uintptr, v uint16, count, stream uintptr) Code {
	return t.Call(CallFill16, ctx, dst, uintptr(v), count, stream, 0, 0)
}

// Fill32 implements [API].
func (t *Table) Fill32(ctx Context, dst uintptr, v uint32, count, stream uintptr) Code {
	return t.Call(CallFill32, ctx, dst, uintptr(v), count, stream, 0, 0)
}

// Prefetch implements [API].
func (t *Table) Prefetch(ctx Context, addr, n uintptr, dev int32, stream uintptr) Code {
	return t.Call(CallPrefetch, ctx, addr, n, uintptr(dev), stream, 0, 0)
}

// Advise implements [API].
func (t *Table) Advise(ctx Context, addr, n uintptr, advice, dev int32) Code {
	return t.Call(CallAdvise, ctx, addr, n, uintptr(advice), uintptr(dev), 0, 0)
}

// StreamCreate implements [API].
func (t *Table) StreamCreate(ctx Context, priority int32) (uintptr, Code) {
	return t.Make(CallStreamCreate, ctx, streamNoSync, uintptr(priority), 0)
}

// StreamDestroy implements [API].
func (t *Table) StreamDestroy(ctx Context, stream uintptr) Code {
	return t.Call(CallStreamDestroy, ctx, stream, 0, 0, 0, 0, 0)
}

// StreamQuery implements [API].
func (t *Table) StreamQuery(ctx Context, stream uintptr) Code {
	return t.Call(CallStreamQuery, ctx, stream, 0, 0, 0, 0, 0)
}

// StreamSync implements [API].
func (t *Table) StreamSync(ctx Context, stream uintptr) Code {
	return t.Call(CallStreamSync, ctx, stream, 0, 0, 0, 0, 0)
}

// StreamWait implements [API].
func (t *Table) StreamWait(ctx Context, stream, event uintptr) Code {
	return t.Call(CallStreamWait, ctx, stream, event, noWaitFlags, 0, 0, 0)
}

// signalChunk is the size in bytes of one block of page-locked memory for SignalAlloc.
const signalChunk = 4096

// SignalAlloc implements [API].
func (t *Table) SignalAlloc(ctx Context) (s Signals, failed Call, code Code) {
	s.Host, code = t.HostAlloc(ctx, signalChunk)
	if code = given(s.Host, code); code != Success {
		return Signals{}, CallHostAlloc, code
	}
	if s.Addr, code = t.HostAddr(ctx, s.Host); code != Success {
		t.HostFree(ctx, s.Host)
		return Signals{}, CallHostAddr, code
	}
	s.N = signalChunk / SignalStride
	return s, 0, Success
}

// SignalFree implements [API].
func (t *Table) SignalFree(ctx Context, host uintptr) Code { return t.HostFree(ctx, host) }

// WaitValue implements [API].
func (t *Table) WaitValue(ctx Context, stream, addr uintptr, value uint32) Code {
	return t.Call(CallWaitValue, ctx, stream, addr, uintptr(value), waitAtLeast, 0, 0)
}

// HostCall implements [API].
func (t *Table) HostCall(ctx Context, stream uintptr, fn func()) (uintptr, Code) {
	return t.HostCallAt(CallHostCall, ctx, stream, t.calls, fn)
}

// HostCallAt is HostCall with another call and entry. The call takes the stream, the entry, the id,
// and 0 as flags.
func (t *Table) HostCallAt(c Call, ctx Context, stream uintptr, entry *dl.Callbacks, fn func()) (uintptr, Code) {
	id, err := entry.Add(func(dl.CallbackArgs) { fn() })
	if err != nil {
		return 0, CodeOutOfMemory
	}
	code := t.Call(c, ctx, stream, entry.Entry(), id, 0, 0, 0)
	if code != Success {
		entry.Remove(id)
		return 0, code
	}
	return id, Success
}

// HostCancel implements [API].
func (t *Table) HostCancel(id uintptr) bool { return t.calls.Remove(id) }

// EventCreate implements [API].
func (t *Table) EventCreate(ctx Context, timing bool) (uintptr, Code) {
	return t.Make(CallEventCreate, ctx, EventFlags(timing), 0, 0)
}

// EventFlags returns the flags of an event on which waiting threads sleep.
func EventFlags(timing bool) uintptr {
	if timing {
		return eventBlocking
	}
	return eventBlocking | eventNoTiming
}

// EventDestroy implements [API].
func (t *Table) EventDestroy(ctx Context, event uintptr) Code {
	return t.Call(CallEventDestroy, ctx, event, 0, 0, 0, 0, 0)
}

// EventRecord implements [API].
func (t *Table) EventRecord(ctx Context, event, stream uintptr) Code {
	return t.Call(CallEventRecord, ctx, event, stream, 0, 0, 0, 0)
}

// EventQuery implements [API].
func (t *Table) EventQuery(ctx Context, event uintptr) Code {
	return t.Call(CallEventQuery, ctx, event, 0, 0, 0, 0, 0)
}

// EventSync implements [API].
func (t *Table) EventSync(ctx Context, event uintptr) Code {
	return t.Call(CallEventSync, ctx, event, 0, 0, 0, 0, 0)
}

// EventElapsed implements [API].
func (t *Table) EventElapsed(ctx Context, from, to uintptr) (float32, Code) {
	ms, code := t.Make(CallEventElapsed, ctx, from, to, 0)
	return math.Float32frombits(uint32(ms)), code
}

// IPCExport implements [API].
func (t *Table) IPCExport(ctx Context, addr uintptr) (h IPCHandle, code Code) {
	f := t.frame(CallIPCExport, ctx)
	clear(f.out[:])
	f.args[0], f.args[1] = f.outAddr(0), addr
	code = f.call()
	h = *(*IPCHandle)(unsafe.Pointer(&f.out))
	f.put()
	return h, code
}

// IPCOpen implements [API].
func (t *Table) IPCOpen(ctx Context, h *IPCHandle) (uintptr, Code) {
	f := t.frame(CallIPCOpen, ctx)
	f.open(h, uintptr(t.ipc))
	code := f.call()
	addr := uintptr(f.out[resultWord])
	f.put()
	return addr, code
}

// IPCClose implements [API].
func (t *Table) IPCClose(ctx Context, addr uintptr) Code {
	return t.Call(CallIPCClose, ctx, addr, 0, 0, 0, 0, 0)
}

// DeviceProperties implements [API].
func (t *Table) DeviceProperties(dev int32, out []byte) Code {
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(&out[0])
	f := unboundFrame(t.procs[CallDeviceProperties])
	f.args[0], f.args[1] = uintptr(unsafe.Pointer(&out[0])), uintptr(dev)
	defer f.put()
	return f.call()
}

// jit are the options of ModuleLoad.
type jit struct {
	options [2]uint32
	values  [2]uintptr
}

// The options for the buffer into which the translator writes its errors.
const (
	jitErrorLog     = 5
	jitErrorLogSize = 6
)

// ModuleLoad implements [API].
func (t *Table) ModuleLoad(ctx Context, image unsafe.Pointer, log []byte) (uintptr, Code) {
	var pins runtime.Pinner
	defer pins.Unpin()
	f := t.frame(CallModuleLoad, ctx)
	f.out[0] = 0
	f.args[0], f.args[1], f.args[2], f.args[3], f.args[4] = f.outAddr(0), uintptr(image), 0, 0, 0
	if len(log) > 0 {
		o := &jit{options: [2]uint32{jitErrorLog, jitErrorLogSize}}
		pins.Pin(o)
		pins.Pin(&log[0])
		o.values = [2]uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
		f.args[2], f.args[3], f.args[4] = uintptr(len(o.options)), uintptr(unsafe.Pointer(&o.options)), uintptr(unsafe.Pointer(&o.values))
	}
	code := f.call()
	module := uintptr(f.out[0])
	f.put()
	return module, code
}

// ModuleUnload implements [API].
func (t *Table) ModuleUnload(ctx Context, module uintptr) Code {
	return t.Call(CallModuleUnload, ctx, module, 0, 0, 0, 0, 0)
}

// ModuleKernel implements [API].
func (t *Table) ModuleKernel(ctx Context, module uintptr, name string) (uintptr, Code) {
	var pins runtime.Pinner
	defer pins.Unpin()
	b := dl.CString(name)
	pins.Pin(&b[0])
	return t.Make(CallModuleKernel, ctx, module, uintptr(unsafe.Pointer(&b[0])), 0)
}

// KernelAttribute implements [API].
func (t *Table) KernelAttribute(ctx Context, kernel uintptr, number int32) (int32, Code) {
	v, code := t.Make(CallKernelAttribute, ctx, uintptr(number), kernel, 0)
	return int32(v), code
}

// KernelSet implements [API].
func (t *Table) KernelSet(ctx Context, kernel uintptr, number, value int32) Code {
	return t.Call(CallKernelSet, ctx, kernel, uintptr(number), uintptr(value), 0, 0, 0)
}

// KernelParam implements [API].
func (t *Table) KernelParam(ctx Context, kernel uintptr, index int) (uintptr, Code) {
	f := t.frame(CallKernelParam, ctx)
	f.out[0], f.out[1] = 0, 0
	f.args[0], f.args[1], f.args[2], f.args[3] = kernel, uintptr(index), f.outAddr(0), f.outAddr(1)
	code := f.call()
	size := uintptr(f.out[1])
	f.put()
	return size, code
}

// KernelLoad implements [API].
func (t *Table) KernelLoad(ctx Context, kernel uintptr) Code {
	return t.Call(CallKernelLoad, ctx, kernel, 0, 0, 0, 0, 0)
}

// Occupancy implements [API]. After the kernel CUDA's call takes a function that computes shared memory, an amount of shared memory, and a
// limit of threads. HIP's call takes no function. All these arguments are 0.
func (t *Table) Occupancy(ctx Context, kernel uintptr) (int32, Code) {
	f := t.frame(CallOccupancy, ctx)
	f.out[0], f.out[1] = 0, 0
	f.args[0], f.args[1], f.args[2] = f.outAddr(0), f.outAddr(1), kernel
	f.args[3], f.args[4], f.args[5] = 0, 0, 0
	code := f.call()
	threads := int32(f.out[1])
	f.put()
	return threads, code
}

// Launch implements [API].
func (t *Table) Launch(ctx Context, kernel uintptr, l *driver.Launch, params unsafe.Pointer, stream uintptr) Code {
	f := t.frame(CallLaunch, ctx)
	a := &f.args
	a[0] = kernel
	a[1], a[2], a[3] = uintptr(l.Grid[0]), uintptr(l.Grid[1]), uintptr(l.Grid[2])
	a[4], a[5], a[6] = uintptr(l.Block[0]), uintptr(l.Block[1]), uintptr(l.Block[2])
	a[7], a[8], a[9], a[10] = uintptr(l.Shared), stream, uintptr(params), 0
	code := f.call()
	f.put()
	return code
}
