package peer

import (
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
)

// gpuProcs is the part of the two vendors' libraries whose calls have the same shape.
type gpuProcs struct {
	Init          dl.Proc
	DeviceGet     dl.Proc
	SetCurrent    dl.Proc
	CopyIn        dl.Proc
	CopyOut       dl.Proc
	Copy          dl.Proc
	CopyPeer      dl.Proc
	Fill32        dl.Proc
	MemAlloc      dl.Proc
	MemFree       dl.Proc
	StreamCreate  dl.Proc
	StreamDestroy dl.Proc
	StreamSync    dl.Proc
	StreamWait    dl.Proc
	EventCreate   dl.Proc
	EventDestroy  dl.Proc
	EventRecord   dl.Proc
}

type cudaProcs struct {
	Init          dl.Proc `sym:"cuInit"`
	DeviceGet     dl.Proc `sym:"cuDeviceGet"`
	SetCurrent    dl.Proc `sym:"cuCtxSetCurrent"`
	CopyIn        dl.Proc `sym:"cuMemcpyHtoDAsync_v2"`
	CopyOut       dl.Proc `sym:"cuMemcpyDtoHAsync_v2"`
	Copy          dl.Proc `sym:"cuMemcpyDtoDAsync_v2"`
	CopyPeer      dl.Proc `sym:"cuMemcpyPeerAsync,optional"`
	Fill32        dl.Proc `sym:"cuMemsetD32Async"`
	MemAlloc      dl.Proc `sym:"cuMemAlloc_v2"`
	MemFree       dl.Proc `sym:"cuMemFree_v2"`
	StreamCreate  dl.Proc `sym:"cuStreamCreate"`
	StreamDestroy dl.Proc `sym:"cuStreamDestroy_v2"`
	StreamSync    dl.Proc `sym:"cuStreamSynchronize"`
	StreamWait    dl.Proc `sym:"cuStreamWaitEvent"`
	EventCreate   dl.Proc `sym:"cuEventCreate"`
	EventDestroy  dl.Proc `sym:"cuEventDestroy_v2"`
	EventRecord   dl.Proc `sym:"cuEventRecord"`
}

type hipProcs struct {
	Init          dl.Proc `sym:"hipInit"`
	DeviceGet     dl.Proc `sym:"hipDeviceGet"`
	SetCurrent    dl.Proc `sym:"hipSetDevice"`
	CopyIn        dl.Proc `sym:"hipMemcpyHtoDAsync"`
	CopyOut       dl.Proc `sym:"hipMemcpyDtoHAsync"`
	Copy          dl.Proc `sym:"hipMemcpyDtoDAsync"`
	CopyPeer      dl.Proc `sym:"hipMemcpyPeerAsync,optional"`
	Fill32        dl.Proc `sym:"hipMemsetD32Async"`
	MemAlloc      dl.Proc `sym:"hipMalloc"`
	MemFree       dl.Proc `sym:"hipFree"`
	StreamCreate  dl.Proc `sym:"hipStreamCreateWithFlags"`
	StreamDestroy dl.Proc `sym:"hipStreamDestroy"`
	StreamSync    dl.Proc `sym:"hipStreamSynchronize"`
	StreamWait    dl.Proc `sym:"hipStreamWaitEvent"`
	EventCreate   dl.Proc `sym:"hipEventCreateWithFlags"`
	EventDestroy  dl.Proc `sym:"hipEventDestroy"`
	EventRecord   dl.Proc `sym:"hipEventRecord"`
}

// gpuNames are the names of the calls in the vendors' headers, for display.
type gpuNames struct {
	names
	copyPeer string
}

var (
	cudaNames = gpuNames{names{
		CopyIn: "cuMemcpyHtoDAsync", CopyOut: "cuMemcpyDtoHAsync", Copy: "cuMemcpyDtoDAsync", Fill: "cuMemsetD32Async",
		Sync: "cuStreamSynchronize", AllocFree: "cuMemAlloc, cuMemFree", Record: "cuEventRecord",
		RecordWait: "cuEventRecord, cuStreamWaitEvent",
	}, "cuMemcpyPeerAsync"}
	hipNames = gpuNames{names{
		CopyIn: "hipMemcpyHtoDAsync", CopyOut: "hipMemcpyDtoHAsync", Copy: "hipMemcpyDtoDAsync", Fill: "hipMemsetD32Async",
		Sync: "hipStreamSynchronize", AllocFree: "hipMalloc, hipFree", Record: "hipEventRecord",
		RecordWait: "hipEventRecord, hipStreamWaitEvent",
	}, "hipMemcpyPeerAsync"}
)

const (
	streamNonBlocking = 1 // no order with the default stream
	eventNoTiming     = 2
)

// gpu is a CUDA or HIP device.
type gpu struct {
	gpuProcs
	names   gpuNames
	modules moduleProcs

	id      uintptr // makes the device current: a context, or the device's number
	stream  uintptr
	second  uintptr
	event   uintptr
	release func() error

	out [2]uint64 // where a call stores the handles that it makes
}

// CUDA returns the peer of a CUDA device. It looks for the driver in the same places as the backend.
func CUDA(ordinal int) (Peer, error) {
	libraries := []string{"libcuda.so.1", "libcuda.so"}
	if runtime.GOOS == "windows" {
		libraries = []string{"nvcuda.dll"}
	}
	lib, err := dl.Open("HALYARD_CUDA_LIBRARY", libraries...)
	if err != nil {
		return nil, err
	}
	var procs cudaProcs
	if _, err := lib.Fill(&procs); err != nil {
		return nil, err
	}
	var primary struct {
		Retain  dl.Proc `sym:"cuDevicePrimaryCtxRetain"`
		Release dl.Proc `sym:"cuDevicePrimaryCtxRelease_v2"`
	}
	if _, err := lib.Fill(&primary); err != nil {
		return nil, err
	}
	g := &gpu{gpuProcs: gpuProcs(procs), names: cudaNames}
	g.modules = moduleProcs{lib.Proc("cuModuleLoadData"), lib.Proc("cuModuleUnload"), lib.Proc("cuModuleGetFunction"), lib.Proc("cuLaunchKernel"), "cuLaunchKernel"}
	dev, err := g.device(ordinal)
	if err != nil {
		return nil, err
	}
	if err := status("cuDevicePrimaryCtxRetain", primary.Retain.Call2(g.at(0), dev)); err != nil {
		return nil, err
	}
	g.id = uintptr(g.out[0])
	g.release = func() error { return status("cuDevicePrimaryCtxRelease", primary.Release.Call1(dev)) }
	return g.start()
}

// HIP returns the peer of a HIP device; see [CUDA].
func HIP(ordinal int) (Peer, error) {
	libraries := []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}
	for _, name := range slices.Clone(libraries) {
		libraries = append(libraries, "/opt/rocm/lib/"+name)
	}
	if runtime.GOOS == "windows" {
		libraries = []string{"amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"}
	}
	lib, err := dl.Open("HALYARD_HIP_LIBRARY", libraries...)
	if err != nil {
		return nil, err
	}
	var procs hipProcs
	if _, err := lib.Fill(&procs); err != nil {
		return nil, err
	}
	g := &gpu{gpuProcs: gpuProcs(procs), names: hipNames, release: func() error { return nil }}
	g.modules = moduleProcs{lib.Proc("hipModuleLoadData"), lib.Proc("hipModuleUnload"), lib.Proc("hipModuleGetFunction"), lib.Proc("hipModuleLaunchKernel"), "hipModuleLaunchKernel"}
	dev, err := g.device(ordinal)
	if err != nil {
		return nil, err
	}
	g.id = dev
	return g.start()
}

// at returns the address of an element of out. g is on the heap, where it does not move.
func (g *gpu) at(i int) uintptr { return uintptr(unsafe.Pointer(&g.out[i])) }

func status(call string, r uintptr) error {
	if code := int32(r); code != 0 {
		return &StatusError{call, int64(code)}
	}
	return nil
}

func (g *gpu) device(ordinal int) (uintptr, error) {
	if err := status("init", g.Init.Call1(0)); err != nil {
		return 0, err
	}
	err := status("device get", g.DeviceGet.Call2(g.at(0), uintptr(ordinal)))
	return uintptr(int32(g.out[0])), err
}

// start makes the streams and the event.
func (g *gpu) start() (Peer, error) {
	err := g.Enter()
	if err == nil {
		err = errors.Join(
			g.make(&g.stream, "stream create", g.StreamCreate, streamNonBlocking),
			g.make(&g.second, "stream create", g.StreamCreate, streamNonBlocking),
			g.make(&g.event, "event create", g.EventCreate, eventNoTiming))
		g.leave()
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *gpu) make(to *uintptr, what string, create dl.Proc, flags uintptr) error {
	if err := status(what, create.Call2(g.at(0), flags)); err != nil {
		return err
	}
	*to = uintptr(g.out[0])
	return nil
}

func (g *gpu) Names(op Op) string { return g.names.names[op] }

func (g *gpu) current() error { return status("make current", g.SetCurrent.Call1(g.id)) }

func (g *gpu) Enter() error {
	runtime.LockOSThread()
	if err := g.current(); err != nil {
		g.leave()
		return err
	}
	return nil
}

func (g *gpu) leave() { runtime.UnlockOSThread() }

func (g *gpu) Leave() error {
	defer g.leave()
	if err := g.current(); err != nil { // another device may be current
		return err
	}
	if err := g.Sync(); err != nil {
		return err
	}
	return status("stream sync", g.StreamSync.Call1(g.second))
}

func (g *gpu) CopyIn(dst uintptr, src unsafe.Pointer, n uint64) error {
	return status("copy in", g.gpuProcs.CopyIn.Call4(dst, dl.Address(src), uintptr(n), g.stream))
}

func (g *gpu) CopyOut(dst unsafe.Pointer, src uintptr, n uint64) error {
	return status("copy out", g.gpuProcs.CopyOut.Call4(dl.Address(dst), src, uintptr(n), g.stream))
}

func (g *gpu) Copy(dst, src uintptr, n uint64) error {
	return status("copy", g.gpuProcs.Copy.Call4(dst, src, uintptr(n), g.stream))
}

// copyFrom copies from another device.
func (g *gpu) copyFrom(src *gpu, to, from uintptr, n uint64) error {
	return status("copy peer", g.CopyPeer.Call6(to, g.id, from, src.id, uintptr(n), g.stream))
}

func (g *gpu) Fill(dst uintptr, bits uint32, n uint64) error {
	return status("fill", g.Fill32.Call4(dst, uintptr(bits), uintptr(n/4), g.stream))
}

func (g *gpu) Sync() error { return status("stream sync", g.StreamSync.Call1(g.stream)) }

func (g *gpu) AllocFree(n uint64) error {
	if err := status("alloc", g.MemAlloc.Call2(g.at(0), uintptr(n))); err != nil {
		return err
	}
	return status("free", g.MemFree.Call1(uintptr(g.out[0])))
}

func (g *gpu) Record() error { return status("record", g.EventRecord.Call2(g.event, g.stream)) }

func (g *gpu) RecordWait() error {
	if err := g.Record(); err != nil {
		return err
	}
	return status("wait", g.StreamWait.Call3(g.second, g.event, 0))
}

func (g *gpu) Close() error {
	var errs []error
	if g.Enter() == nil {
		if g.event != 0 {
			errs = append(errs, status("event destroy", g.EventDestroy.Call1(g.event)))
		}
		for _, s := range []uintptr{g.stream, g.second} {
			if s != 0 {
				errs = append(errs, status("stream destroy", g.StreamDestroy.Call1(s)))
			}
		}
		g.leave()
	}
	g.event, g.stream, g.second = 0, 0, 0
	return errors.Join(append(errs, g.release())...)
}
