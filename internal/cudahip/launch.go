package cudahip

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// arguments is the list of the addresses of a launch's arguments, as the vendors take it. The address of a value points
// into the driver.Arg. An address of device memory is itself stored in words, and the list has the address of that
// word.
type arguments struct {
	list  []unsafe.Pointer
	words []uint64 // the device addresses that are arguments

	roomList  [fewArguments]unsafe.Pointer
	roomWords [fewArguments]uint64
}

// fewArguments is how many arguments fit without an allocation. A record that grew for more arguments keeps its
// size.
const fewArguments = 16

var argumentLists = sync.Pool{New: func() any {
	a := new(arguments)
	a.list, a.words = a.roomList[:0], a.roomWords[:0]
	return a
}}

// takeArguments returns a record with room for n arguments.
func takeArguments(n int) *arguments {
	a := argumentLists.Get().(*arguments)
	if cap(a.words) < n { // only here, before the first is added: the list contains addresses of the words
		a.list, a.words = make([]unsafe.Pointer, 0, n), make([]uint64, 0, n)
	}
	return a
}

func (a *arguments) put() {
	clear(a.list)
	a.list, a.words = a.list[:0], a.words[:0]
	argumentLists.Put(a)
}

func (a *arguments) address(addr uintptr) {
	a.words = append(a.words, uint64(addr))
	a.list = append(a.list, unsafe.Pointer(&a.words[len(a.words)-1]))
}

// Launch implements driver.Launcher. The vendors copy the arguments during the call.
func (s *Stream) Launch(kernel driver.Kernel, l *driver.Launch) error {
	const op = "launch"
	k := kernel.(*Kernel)
	a := takeArguments(len(l.Args))
	for i := range l.Args {
		arg := &l.Args[i]
		if arg.Kind != driver.ParamPointer {
			a.list = append(a.list, arg.Value())
			continue
		}
		if arg.Region.Mem == nil {
			a.address(0)
			continue
		}
		a.address(arg.Region.Mem.(*Memory).at(arg.Region))
	}
	call, code := CallLaunch, Success
	if l.Shared > k.dynamic.Load() && s.api.Has(CallKernelSet) {
		call, code = CallKernelSet, s.api.KernelSet(s.ctx, k.handle, kernelDynamic, int32(k.info.MaxShared))
		if code == Success {
			k.dynamic.Store(k.info.MaxShared)
			call = CallLaunch
		}
	}
	if code == Success {
		code = s.api.Launch(s.ctx, k.handle, l, unsafe.Pointer(unsafe.SliceData(a.list)), s.handle)
	}
	a.put()
	runtime.KeepAlive(l)
	if code != Success {
		return s.unlaunchable(op, call, k, l, code)
	}
	return nil
}

// unlaunchable returns the error of a launch that the driver refused.
func (s *Stream) unlaunchable(op string, call Call, k *Kernel, l *driver.Launch, code Code) error {
	e := s.dev.fail(op, call, code)
	if e.Kind == driver.ErrInvalidArgument {
		e.Detail = fmt.Sprintf("kernel %s in %dx%dx%d blocks of %dx%dx%d threads with %d bytes of shared memory", k.info.Name,
			l.Grid[0], l.Grid[1], l.Grid[2], l.Block[0], l.Block[1], l.Block[2], l.Shared)
		if code.Value() == codeOutOfResources {
			e.Detail += fmt.Sprintf("; each thread needs %d registers, and the kernel's code declares %d more bytes of shared memory",
				k.registers, k.info.StaticShared)
		}
	}
	return e
}

// KernelHandle returns the vendor's kernel.
func KernelHandle(k driver.Kernel) uintptr { return k.(*Kernel).handle }
