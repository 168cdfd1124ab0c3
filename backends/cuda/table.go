//go:build cuda

package cuda

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
)

// entry is the CUhostFn that cuLaunchHostFunc calls: one argument, the user data.
var entry = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(1, 0) })

// load returns the calls of a library that was found while the program runs.
func load(lib *dl.Library) (calls, error) {
	t, err := cudahip.NewTable(lib, &symbols, entry())
	return calls{t}, err
}

// Copy2D implements cudahip.API. It passes a CUDA_MEMCPY2D, a structure of 128 bytes.
func (t calls) Copy2D(ctx cudahip.Context, r *cudahip.Rect, stream uintptr) cudahip.Code {
	f := t.Frame(cudahip.CallCopy2D, ctx)
	words := f.Structure()
	*words = [16]uint64{6: uint64(r.SrcPitch), 13: uint64(r.DstPitch), 14: uint64(r.Width), 15: uint64(r.Rows)}
	words[2], words[3+hostOrDevice(r.SrcAt)] = memoryTypes[r.SrcAt], uint64(r.Src)
	words[9], words[10+hostOrDevice(r.DstAt)] = memoryTypes[r.DstAt], uint64(r.Dst)
	f.Args[0], f.Args[1] = f.TextAddr(), stream
	code := f.Call()
	f.Put()
	return code
}

// memoryTypes are CU_MEMORYTYPE_HOST, DEVICE and UNIFIED.
var memoryTypes = [...]uint64{cudahip.OnHost: 1, cudahip.OnDevice: 2, cudahip.Anywhere: 4}

// hostOrDevice returns which of the two address fields of a CUDA_MEMCPY2D to set: 0 for srcHost or
// dstHost, 1 for srcDevice or dstDevice.
func hostOrDevice(p cudahip.Place) int {
	if p == cudahip.OnHost {
		return 0
	}
	return 1
}

// Launch implements cudahip.API.
func (t calls) Launch(ctx cudahip.Context, kernel uintptr, l *driver.Launch, params unsafe.Pointer, stream uintptr) cudahip.Code {
	return t.launch(ctx, kernel, l.Grid, l.Block, uint32(l.Shared), stream, params)
}

// The options of cuModuleLoadDataEx for the buffer into which the translator writes its errors.
const (
	jitErrorLog     = 5
	jitErrorLogSize = 6
)

// jit is the list of options of ModuleLoad, and of their values.
type jit struct {
	options [2]uint32
	values  [2]uintptr
}

// ModuleLoad implements cudahip.API.
func (t calls) ModuleLoad(ctx cudahip.Context, image unsafe.Pointer, log []byte) (uintptr, cudahip.Code) {
	if len(log) == 0 {
		return t.moduleLoad(ctx, uintptr(image), 0, 0, nil)
	}
	o := &jit{[2]uint32{jitErrorLog, jitErrorLogSize}, [2]uintptr{dl.Address(unsafe.Pointer(&log[0])), uintptr(len(log))}}
	options := dl.Address(unsafe.Pointer(&o.options))
	module, code := t.moduleLoad(ctx, uintptr(image), uint32(len(o.options)), options, unsafe.Pointer(&o.values))
	runtime.KeepAlive(o)
	runtime.KeepAlive(log)
	return module, code
}
