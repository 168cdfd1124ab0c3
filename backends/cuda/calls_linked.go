//go:build cuda && linked && cgo

package cuda

// The folders are the ones in which gorgonia.org/cu looks for CUDA.

/*
#cgo LDFLAGS: -lcuda
#cgo linux LDFLAGS: -L/usr/local/cuda/lib64 -L/usr/local/cuda/lib -L/usr/lib/x86_64-linux-gnu -L/opt/cuda/lib64 -L/opt/cuda/lib
#cgo linux CFLAGS: -I/usr/local/cuda/include -I/opt/cuda/include
#cgo windows LDFLAGS: -LC:/cuda/v11.8/lib/x64 -LC:/cuda/12.0/lib/x64
#cgo windows CFLAGS: -IC:/cuda/v11.8/include -IC:/cuda/v12.0/include

#include <stdint.h>
#include <cuda.h>

// A cudahip.Code: the number that the driver returned, with bit 32 set if cuCtxSetCurrent returned it.
typedef int64_t code;

typedef struct {
	uintptr_t addr;
	code code;
} made;

// BOUND makes a context current and then makes the call.
#define BOUND(ctx, call) \
	CUresult bound = cuCtxSetCurrent((CUcontext)(ctx)); \
	return bound != CUDA_SUCCESS ? (code)1 << 32 | (uint32_t)bound : (code)(uint32_t)(call)

static code mem_alloc(uintptr_t ctx, CUdeviceptr *p, size_t n) { BOUND(ctx, cuMemAlloc(p, n)); }

static made halyard_mem_alloc(uintptr_t ctx, size_t n) {
	CUdeviceptr p = 0;
	code c = mem_alloc(ctx, &p, n);
	return (made){(uintptr_t)p, c};
}

static code halyard_mem_free(uintptr_t ctx, uintptr_t p) { BOUND(ctx, cuMemFree((CUdeviceptr)p)); }

static code halyard_copy_in(uintptr_t ctx, uintptr_t dst, uintptr_t host, size_t n, uintptr_t s) {
	BOUND(ctx, cuMemcpyHtoDAsync((CUdeviceptr)dst, (const void *)host, n, (CUstream)s));
}

static code halyard_copy_out(uintptr_t ctx, uintptr_t host, uintptr_t src, size_t n, uintptr_t s) {
	BOUND(ctx, cuMemcpyDtoHAsync((void *)host, (CUdeviceptr)src, n, (CUstream)s));
}

static code halyard_copy_device(uintptr_t ctx, uintptr_t dst, uintptr_t src, size_t n, uintptr_t s) {
	BOUND(ctx, cuMemcpyDtoDAsync((CUdeviceptr)dst, (CUdeviceptr)src, n, (CUstream)s));
}

static code halyard_copy_any(uintptr_t ctx, uintptr_t dst, uintptr_t src, size_t n, uintptr_t s) {
	BOUND(ctx, cuMemcpyAsync((CUdeviceptr)dst, (CUdeviceptr)src, n, (CUstream)s));
}

static code halyard_copy_peer(uintptr_t ctx, uintptr_t dst, uintptr_t to, uintptr_t src, uintptr_t from, size_t n, uintptr_t s) {
	BOUND(ctx, cuMemcpyPeerAsync((CUdeviceptr)dst, (CUcontext)to, (CUdeviceptr)src, (CUcontext)from, n, (CUstream)s));
}

static code halyard_fill8(uintptr_t ctx, uintptr_t dst, uint8_t v, size_t n, uintptr_t s) {
	BOUND(ctx, cuMemsetD8Async((CUdeviceptr)dst, v, n, (CUstream)s));
}

static code halyard_fill16(uintptr_t ctx, uintptr_t dst, uint16_t v, size_t n, uintptr_t s) {
	BOUND(ctx, cuMemsetD16Async((CUdeviceptr)dst, v, n, (CUstream)s));
}

static code halyard_fill32(uintptr_t ctx, uintptr_t dst, uint32_t v, size_t n, uintptr_t s) {
	BOUND(ctx, cuMemsetD32Async((CUdeviceptr)dst, v, n, (CUstream)s));
}

static code halyard_stream_query(uintptr_t ctx, uintptr_t s) { BOUND(ctx, cuStreamQuery((CUstream)s)); }

static code halyard_stream_sync(uintptr_t ctx, uintptr_t s) { BOUND(ctx, cuStreamSynchronize((CUstream)s)); }

static code halyard_stream_wait(uintptr_t ctx, uintptr_t s, uintptr_t e) {
	BOUND(ctx, cuStreamWaitEvent((CUstream)s, (CUevent)e, 0));
}

static code halyard_wait_value(uintptr_t ctx, uintptr_t s, uintptr_t addr, uint32_t v) {
	BOUND(ctx, cuStreamWaitValue32((CUstream)s, (CUdeviceptr)addr, v, CU_STREAM_WAIT_VALUE_GEQ));
}

static code halyard_event_record(uintptr_t ctx, uintptr_t e, uintptr_t s) {
	BOUND(ctx, cuEventRecord((CUevent)e, (CUstream)s));
}

static code halyard_launch(uintptr_t ctx, uintptr_t kernel, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
		uint32_t shared, uintptr_t params, uintptr_t s) {
	BOUND(ctx, cuLaunchKernel((CUfunction)kernel, gx, gy, gz, bx, by, bz, shared, (CUstream)s, (void **)params, NULL));
}

static code halyard_event_query(uintptr_t ctx, uintptr_t e) { BOUND(ctx, cuEventQuery((CUevent)e)); }

static code halyard_event_sync(uintptr_t ctx, uintptr_t e) { BOUND(ctx, cuEventSynchronize((CUevent)e)); }
*/
import "C"

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
)

// The calls of this file make the context current and use it in one crossing from Go to C, so the goroutine
// need not be locked to its thread. Each call sets the context again: other code may have run on the thread
// in the meantime, and a record of the thread's current context would be wrong as soon as that code sets
// another.
//
// Addresses are passed as numbers. The caller keeps host memory reachable until the work that uses it is
// done.

// MemAlloc implements cudahip.API.
func (linked) MemAlloc(ctx cudahip.Context, size uint64) (uintptr, cudahip.Code) {
	m := C.halyard_mem_alloc(C.uintptr_t(ctx), C.size_t(size))
	return uintptr(m.addr), cudahip.Code(m.code)
}

// MemFree implements cudahip.API.
func (linked) MemFree(ctx cudahip.Context, addr uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_mem_free(C.uintptr_t(ctx), C.uintptr_t(addr)))
}

// CopyIn implements cudahip.API.
func (linked) CopyIn(ctx cudahip.Context, dst, host, n, s uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_copy_in(C.uintptr_t(ctx), C.uintptr_t(dst), C.uintptr_t(host), C.size_t(n), C.uintptr_t(s)))
}

// CopyOut implements cudahip.API.
func (linked) CopyOut(ctx cudahip.Context, host, src, n, s uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_copy_out(C.uintptr_t(ctx), C.uintptr_t(host), C.uintptr_t(src), C.size_t(n), C.uintptr_t(s)))
}

// CopyDevice implements cudahip.API.
func (linked) CopyDevice(ctx cudahip.Context, dst, src, n, s uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_copy_device(C.uintptr_t(ctx), C.uintptr_t(dst), C.uintptr_t(src), C.size_t(n), C.uintptr_t(s)))
}

// CopyAny implements cudahip.API.
func (linked) CopyAny(ctx cudahip.Context, dst, src, n, s uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_copy_any(C.uintptr_t(ctx), C.uintptr_t(dst), C.uintptr_t(src), C.size_t(n), C.uintptr_t(s)))
}

// CopyPeer implements cudahip.API.
func (linked) CopyPeer(ctx cudahip.Context, dst uintptr, dstCtx cudahip.Context, src uintptr, srcCtx cudahip.Context, n, s uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_copy_peer(C.uintptr_t(ctx), C.uintptr_t(dst), C.uintptr_t(dstCtx),
		C.uintptr_t(src), C.uintptr_t(srcCtx), C.size_t(n), C.uintptr_t(s)))
}

// Fill8 implements cudahip.API.
func (linked) Fill8(ctx cudahip.Context, dst uintptr, v uint8, count, s uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_fill8(C.uintptr_t(ctx), C.uintptr_t(dst), C.uint8_t(v), C.size_t(count), C.uintptr_t(s)))
}

// Fill16 implements cudahip.API.
func (linked) Fill16(ctx cudahip.Context, dst uintptr, v uint16, count, s uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_fill16(C.uintptr_t(ctx), C.uintptr_t(dst), C.uint16_t(v), C.size_t(count), C.uintptr_t(s)))
}

// Fill32 implements cudahip.API.
func (linked) Fill32(ctx cudahip.Context, dst uintptr, v uint32, count, s uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_fill32(C.uintptr_t(ctx), C.uintptr_t(dst), C.uint32_t(v), C.size_t(count), C.uintptr_t(s)))
}

// StreamQuery implements cudahip.API.
func (linked) StreamQuery(ctx cudahip.Context, s uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_stream_query(C.uintptr_t(ctx), C.uintptr_t(s)))
}

// StreamSync implements cudahip.API.
func (linked) StreamSync(ctx cudahip.Context, s uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_stream_sync(C.uintptr_t(ctx), C.uintptr_t(s)))
}

// StreamWait implements cudahip.API.
func (linked) StreamWait(ctx cudahip.Context, s, event uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_stream_wait(C.uintptr_t(ctx), C.uintptr_t(s), C.uintptr_t(event)))
}

// WaitValue implements cudahip.API.
func (linked) WaitValue(ctx cudahip.Context, s, addr uintptr, value uint32) cudahip.Code {
	return cudahip.Code(C.halyard_wait_value(C.uintptr_t(ctx), C.uintptr_t(s), C.uintptr_t(addr), C.uint32_t(value)))
}

// EventRecord implements cudahip.API.
func (linked) EventRecord(ctx cudahip.Context, event, s uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_event_record(C.uintptr_t(ctx), C.uintptr_t(event), C.uintptr_t(s)))
}

// EventQuery implements cudahip.API.
func (linked) EventQuery(ctx cudahip.Context, event uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_event_query(C.uintptr_t(ctx), C.uintptr_t(event)))
}

// EventSync implements cudahip.API.
func (linked) EventSync(ctx cudahip.Context, event uintptr) cudahip.Code {
	return cudahip.Code(C.halyard_event_sync(C.uintptr_t(ctx), C.uintptr_t(event)))
}

// Launch implements cudahip.API.
func (linked) Launch(ctx cudahip.Context, kernel uintptr, l *driver.Launch, params unsafe.Pointer, s uintptr) cudahip.Code {
	g, b := &l.Grid, &l.Block
	return cudahip.Code(C.halyard_launch(C.uintptr_t(ctx), C.uintptr_t(kernel), C.uint32_t(g[0]), C.uint32_t(g[1]), C.uint32_t(g[2]),
		C.uint32_t(b[0]), C.uint32_t(b[1]), C.uint32_t(b[2]), C.uint32_t(l.Shared), C.uintptr_t(uintptr(params)), C.uintptr_t(s)))
}
