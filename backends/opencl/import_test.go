//go:build opencl

package opencl

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/pages"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

const (
	memReferences   = 0x1105
	queueReferences = 0x1092
)

// references returns the driver's reference count of an object.
func references(t testing.TB, p place, object uintptr, param uint32) uint64 {
	t.Helper()
	get := p.t.memInfo
	if param == queueReferences {
		get = p.t.queueInfo
	}
	n, err := p.word("test", "count references", get, object, param, 4)
	ok(t, err)
	return n
}

func adoptKind(t testing.TB, p place, kind driver.Kind, handle uintptr, size uint64, want error) {
	t.Helper()
	_, err := p.Import(kind, handle, size)
	wantKind(t, err, want)
}

// A program's own buffer, with the program's own flags, is retained until Free and mapped where it is.
func TestAdoptBuffer(t *testing.T) {
	const n = 8192
	everywhere(t, func(t *testing.T, p place) {
		if p.tier != tierBuffer {
			t.Skip("memory has addresses in this tier")
		}
		s := newStream(t, p)
		backing, err := pages.Map(n)
		ok(t, err)
		host := uintptr(unsafe.Pointer(unsafe.SliceData(backing)))
		for what, row := range map[string]struct {
			flags uint64
			at    uintptr
			kind  driver.Kind
		}{
			"plain":          {memReadWrite, 0, driver.KindDevice},
			"read only":      {1 << 2, 0, driver.KindDevice},
			"use host":       {memReadWrite | memUseHostPtr, host, driver.KindHost},
			"allocated host": {memReadWrite | memAllocHostPtr, 0, driver.KindHost},
		} {
			cl, st := p.t.createBuffer(p.ctx.cl, row.flags, n, row.at)
			ok(t, p.check("test", "clCreateBuffer", st))
			mem, err := p.Import(row.kind, cl, n-100)
			ok(t, err)
			m := mem.(*memory)
			if m.Handle() != cl || m.Size() != n-100 || references(t, p, cl, memReferences) != 2 {
				t.Errorf("%s: handle %#x, want %#x; %d bytes; %d references", what, m.Handle(), cl, m.Size(), references(t, p, cl, memReferences))
			}
			write(t, s, whole(m), ramp(n-100, 3))
			same(t, what, read(t, s, whole(m)), ramp(n-100, 3))
			ok(t, m.Free())
			// Rusticl releases a command's reference some time after the command is done. If the backend kept a reference,
			// this loop would not end.
			for references(t, p, cl, memReferences) != 1 {
				runtime.Gosched()
			}
			other := driver.KindDevice + driver.KindHost - row.kind
			adoptKind(t, p, other, cl, n, driver.ErrInvalidArgument)
			adoptKind(t, p, row.kind, cl, n+1, driver.ErrOutOfRange)
			p.t.releaseBuffer(cl)
		}
		for _, flag := range []uint64{memHostNoAccess, memHostReadOnly, memHostWriteOnly} {
			cl, st := p.t.createBuffer(p.ctx.cl, memReadWrite|flag, n, 0)
			ok(t, p.check("test", "clCreateBuffer", st))
			adoptKind(t, p, driver.KindDevice, cl, n, driver.ErrInvalidArgument)
			p.t.releaseBuffer(cl)
		}
		// A context that the program creates is not the backend's, although it has the same device.
		context, st := p.t.createContext([]uintptr{contextPlatform, p.hw.platform.id, 0}, p.hw.id)
		ok(t, p.check("test", "clCreateContext", st))
		cl, st := p.t.createBuffer(context, memReadWrite, n, 0)
		ok(t, p.check("test", "clCreateBuffer", st))
		adoptKind(t, p, driver.KindDevice, cl, n, driver.ErrWrongDevice)
		p.t.releaseBuffer(cl)
		p.t.releaseContext(context)
		closeAll(t, s)
		ok(t, pages.Unmap(backing))
	})
}

// Memory that has an address is imported by the address. If the platform can describe memory,
// Import checks the address.
func TestAdoptAddress(t *testing.T) {
	const n = 8192
	everywhere(t, func(t *testing.T, p place) {
		if p.tier == tierBuffer {
			t.Skip("memory has no addresses in this tier")
		}
		s := newStream(t, p)
		for _, k := range kinds(p) {
			own := alloc(t, p, k, n)
			mem, err := p.Import(k, own.Handle()+64, n-64)
			ok(t, err)
			m := mem.(*memory)
			if at := own.HostPointer(); at != nil && m.HostPointer() != unsafe.Add(at, 64) {
				t.Errorf("%v memory: the host finds %p at %p", k, own.HostPointer(), m.HostPointer())
			}
			write(t, s, whole(m), ramp(n-64, 9))
			same(t, k.String(), read(t, s, part(own, 64, n-64)), ramp(n-64, 9))
			ok(t, m.Free())
			same(t, k.String(), read(t, s, part(own, 64, n-64)), ramp(n-64, 9))
			adoptKind(t, p, k, own.Handle()+4, 8, driver.ErrMisaligned)
			if p.info.Caps.Has(driver.CapPointerInfo) {
				adoptKind(t, p, k, own.Handle(), n+1<<20, driver.ErrOutOfRange)
				plain := make([]uint64, 8)
				adoptKind(t, p, k, pintest.Slice(t, plain), 8, driver.ErrInvalidArgument)
				if k == driver.KindHost {
					adoptKind(t, p, driver.KindShared, own.Handle(), n, driver.ErrInvalidArgument)
				}
				info, err := p.PointerInfo(own.Handle() + 100)
				ok(t, err)
				if info.Base > own.Handle() || info.Base+uintptr(info.Size) < own.Handle()+n {
					t.Errorf("%v memory: %d bytes at %#x are in %+v", k, n, own.Handle(), info)
				}
			}
			closeAll(t, own)
		}
		closeAll(t, s)
	})
}

// A program's own queue is retained until Close. Work that the program enqueues there counts as
// work of the stream.
func TestAdoptQueue(t *testing.T) {
	const n = 4096
	everywhere(t, func(t *testing.T, p place) {
		for _, properties := range []uint64{0, queueProfilingEnable} {
			queue, st := p.t.createQueue(p.ctx.cl, p.hw.id, properties)
			ok(t, p.check("test", "clCreateCommandQueue", st))
			imported, err := p.ImportStream(queue)
			ok(t, err)
			s := imported.(*stream)
			if s.Handle() != queue || references(t, p, queue, queueReferences) != 2 {
				t.Errorf("handle %#x, want %#x; %d references", s.Handle(), queue, references(t, p, queue, queueReferences))
			}
			m := alloc(t, p, driver.KindDevice, n)
			want := ramp(n, 5)
			pintest.Slice(t, want) // the copy goes on after the call
			ev, st := rawCopyIn(p, queue, m, unsafe.Pointer(&want[0]), n)
			ok(t, p.check("test", "copy in", st))
			p.t.releaseEvent(ev)
			same(t, "work of both", read(t, s, whole(m)), want)
			e := newEvent(t, p, false)
			ok(t, s.Record(e))
			ok(t, e.Sync())
			timed := newEvent(t, p, true)
			if err := s.Record(timed); properties == 0 {
				wantKind(t, err, driver.ErrUnsupported)
			} else {
				ok(t, err)
				ok(t, timed.Sync())
			}
			ok(t, s.Sync())
			closeAll(t, e, timed, s, m)
			// PoCL's threads release a queue a moment after its work is done, and its buffers keep the last event.
			require.Eventually(t, func() bool { return references(t, p, queue, queueReferences) == 1 }, 10*time.Second, time.Millisecond)
			p.t.releaseQueue(queue)
		}
		bad := func(queue uintptr, want error) {
			t.Helper()
			_, err := p.ImportStream(queue)
			wantKind(t, err, want)
		}
		bad(0, driver.ErrInvalidArgument)
		if queue, st := p.t.createQueue(p.ctx.cl, p.hw.id, queueOutOfOrder); st == success {
			bad(queue, driver.ErrInvalidArgument)
			p.t.releaseQueue(queue)
		}
		context, st := p.t.createContext([]uintptr{contextPlatform, p.hw.platform.id, 0}, p.hw.id)
		ok(t, p.check("test", "clCreateContext", st))
		queue, st := p.t.createQueue(context, p.hw.id, 0)
		ok(t, p.check("test", "clCreateCommandQueue", st))
		bad(queue, driver.ErrWrongDevice)
		p.t.releaseQueue(queue)
		p.t.releaseContext(context)
	})
}

// An image cannot be imported as memory.
func TestAdoptImage(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		if p.tier != tierBuffer || p.binding != "loaded" {
			t.Skip("one tier and binding is enough")
		}
		lib, err := dl.Open(libraryEnv, libraryNames()...)
		ok(t, err)
		create := lib.Proc("clCreateImage")
		if !create.Valid() {
			t.Skip("the library makes no images")
		}
		format := [2]uint32{0x10B0, 0x10DA} // CL_R, CL_UNSIGNED_INT8
		desc := [9]uintptr{0x10F1, 16, 16}  // CL_MEM_OBJECT_IMAGE2D
		st := new(int32)
		image := create.Call6(p.ctx.cl, memReadWrite, uintptr(unsafe.Pointer(&format)), uintptr(unsafe.Pointer(&desc)), 0, uintptr(unsafe.Pointer(st)))
		if *st != 0 {
			t.Skipf("the device makes no such images: %d", *st)
		}
		adoptKind(t, p, driver.KindDevice, image, 16, driver.ErrInvalidArgument)
		lib.Proc("clReleaseMemObject").Call1(image)
	})
}

// A program's own sub-buffer is imported like another buffer, and a launch may take a part of it.
func TestAdoptSubBuffer(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		if p.tier != tierBuffer {
			t.Skip("memory has addresses in this tier")
		}
		step := p.hw.align
		n := int(3 * step)
		s := newStream(t, p)
		backing, err := pages.Map(4 * step)
		ok(t, err)
		host := uintptr(unsafe.Pointer(unsafe.SliceData(backing)))
		for kind, row := range map[driver.Kind]struct {
			flags uint64
			at    uintptr
		}{driver.KindDevice: {memReadWrite, 0}, driver.KindHost: {memReadWrite | memUseHostPtr, host}} {
			all, st := p.t.createBuffer(p.ctx.cl, row.flags, 4*step, row.at)
			ok(t, p.check("test", "clCreateBuffer", st))
			cl, st := p.t.createSubBuffer(all, [2]uint64{step, 3 * step})
			ok(t, p.check("test", "clCreateSubBuffer", st))
			mem, err := p.Import(kind, cl, 3*step)
			ok(t, err)
			m := mem.(*memory)
			write(t, s, whole(m), ramp(n, 3))
			b, err := m.from("test", step)
			ok(t, err)
			got := make([]byte, 2*step)
			ev, st := p.t.readBuffer(s.queue, b.mem, 0, 2*step, pintest.Slice(t, got))
			ok(t, p.check("test", "clEnqueueReadBuffer", st))
			ok(t, p.await("test", ev))
			p.t.releaseEvent(ev)
			same(t, "the part", got, ramp(n, 3)[step:])
			b.release()
			closeAll(t, m)
			p.t.releaseBuffer(cl)
			p.t.releaseBuffer(all)
		}
		closeAll(t, s)
		ok(t, pages.Unmap(backing))
	})
}

// A handle that is certainly none of the driver's objects is refused, and does not end the process.
func TestWildHandlesAreRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		for _, handle := range []uintptr{0, 1, 4096, ^uintptr(0), p.ctx.cl + 1, pintest.Slice(t, make([]uintptr, 64))} {
			_, err := p.ImportStream(handle)
			wantKind(t, err, driver.ErrInvalidArgument)
			if p.tier == tierBuffer {
				adoptKind(t, p, driver.KindDevice, handle, 8, driver.ErrInvalidArgument)
			}
		}
		if p.tier != tierBuffer && p.info.SharesHostMemory {
			adoptKind(t, p, driver.KindDevice, 4096, 8, driver.ErrInvalidArgument)
			if p.tier == tierSVM {
				m := alloc(t, p, driver.KindDevice, 4096)
				adoptKind(t, p, driver.KindDevice, m.Handle(), 1<<46, driver.ErrOutOfRange)
				closeAll(t, m)
			}
		}
	})
}
