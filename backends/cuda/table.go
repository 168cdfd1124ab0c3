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
