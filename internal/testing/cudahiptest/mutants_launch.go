package cudahiptest

import (
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/cudahip/rtc"
)

// launchMutants load and launch kernels wrongly. The suite's group Kernels must find them. It needs the vendor's compiler for that.
var launchMutants = []mutant{
	launching("launches nothing", func(launcher, *driver.Launch) cudahip.Code { return cudahip.Success }),
	launching("launches twice", func(do launcher, l *driver.Launch) cudahip.Code {
		do(l)
		return do(l)
	}),
	launching("leaves out the last block", func(do launcher, l *driver.Launch) cudahip.Code {
		l.Grid[0] = max(l.Grid[0]-1, 1)
		return do(l)
	}),
	launching("counts threads where blocks belong", func(do launcher, l *driver.Launch) cudahip.Code {
		l.Grid[0] *= l.Block[0]
		return do(l)
	}),
	launching("exchanges two dimensions of the block", func(do launcher, l *driver.Launch) cudahip.Code {
		l.Block[0], l.Block[1] = l.Block[1], l.Block[0]
		return do(l)
	}),
	launching("exchanges two dimensions of the grid", func(do launcher, l *driver.Launch) cudahip.Code {
		l.Grid[0], l.Grid[1] = l.Grid[1], l.Grid[0]
		return do(l)
	}),
	launching("forgets the shared memory", func(do launcher, l *driver.Launch) cudahip.Code {
		l.Shared = 0
		return do(l)
	}),
	{"launches on another stream", func(a cudahip.API) cudahip.API { return launchElsewhere{a} }},
	{"waits for each launch", func(a cudahip.API) cudahip.API { return launchWaits{a} }},
	changing("exchanges the first two arguments", func(l *driver.Launch, list []unsafe.Pointer) {
		if len(list) > 1 {
			list[0], list[1] = list[1], list[0]
		}
	}),
	changing("loses the offset of an argument", func(l *driver.Launch, list []unsafe.Pointer) {
		for i := range list {
			if l.Args[i].Kind == driver.ParamPointer {
				addr := *(*uint64)(list[i]) &^ 255
				list[i] = unsafe.Pointer(&addr)
			}
		}
	}),
	changing("cuts numbers to 4 bytes", func(l *driver.Launch, list []unsafe.Pointer) {
		for i := range list {
			if l.Args[i].Kind == driver.ParamValue && l.Args[i].Size == 8 {
				v := *(*uint64)(list[i]) & (1<<32 - 1)
				list[i] = unsafe.Pointer(&v)
			}
		}
	}),
	changing("passes a structure without its second half", func(l *driver.Launch, list []unsafe.Pointer) {
		for i := range list {
			if n := l.Args[i].Size; l.Args[i].Kind == driver.ParamValue && n > 16 {
				short := make([]byte, n)
				copy(short, unsafe.Slice((*byte)(list[i]), n/2))
				list[i] = unsafe.Pointer(&short[0])
			}
		}
	}),
	{"finds another kernel", func(a cudahip.API) cudahip.API { return anotherKernel{a} }},
	{"never unloads code", func(a cudahip.API) cudahip.API { return noUnload{a} }},
}

// launcher makes the driver's call for a launch.
type launcher func(*driver.Launch) cudahip.Code

// launching returns a mutant that changes a copy of the launch.
func launching(name string, do func(launcher, *driver.Launch) cudahip.Code) mutant {
	return mutant{name, func(a cudahip.API) cudahip.API { return shaped{a, do} }}
}

type shaped struct {
	cudahip.API
	do func(launcher, *driver.Launch) cudahip.Code
}

func (m shaped) Launch(ctx cudahip.Context, kernel uintptr, l *driver.Launch, params unsafe.Pointer, stream uintptr) cudahip.Code {
	changed := *l
	return m.do(func(l *driver.Launch) cudahip.Code { return m.API.Launch(ctx, kernel, l, params, stream) }, &changed)
}

// changing returns a mutant that changes a copy of the list of arguments.
func changing(name string, change func(l *driver.Launch, list []unsafe.Pointer)) mutant {
	return mutant{name, func(a cudahip.API) cudahip.API { return otherArguments{a, change} }}
}

type otherArguments struct {
	cudahip.API
	change func(*driver.Launch, []unsafe.Pointer)
}

func (m otherArguments) Launch(ctx cudahip.Context, kernel uintptr, l *driver.Launch, params unsafe.Pointer, stream uintptr) cudahip.Code {
	if len(l.Args) == 0 {
		return m.API.Launch(ctx, kernel, l, params, stream)
	}
	list := make([]unsafe.Pointer, len(l.Args))
	copy(list, unsafe.Slice((*unsafe.Pointer)(params), len(l.Args)))
	m.change(l, list)
	return m.API.Launch(ctx, kernel, l, unsafe.Pointer(&list[0]), stream)
}

type launchElsewhere struct{ cudahip.API }

func (m launchElsewhere) Launch(ctx cudahip.Context, kernel uintptr, l *driver.Launch, params unsafe.Pointer, _ uintptr) cudahip.Code {
	return m.API.Launch(ctx, kernel, l, params, defaultStream)
}

type launchWaits struct{ cudahip.API }

func (m launchWaits) Launch(ctx cudahip.Context, kernel uintptr, l *driver.Launch, params unsafe.Pointer, stream uintptr) cudahip.Code {
	if code := m.API.Launch(ctx, kernel, l, params, stream); code != cudahip.Success {
		return code
	}
	return m.StreamSync(ctx, stream)
}

type anotherKernel struct{ cudahip.API }

func (m anotherKernel) ModuleKernel(ctx cudahip.Context, module uintptr, name string) (uintptr, cudahip.Code) {
	if name == "turn" {
		name = "count" // which has the same parameters
	}
	return m.API.ModuleKernel(ctx, module, name)
}

type noUnload struct{ cudahip.API }

func (noUnload) ModuleUnload(cudahip.Context, uintptr) cudahip.Code { return cudahip.Success }

// needCompiler skips the test if the vendor's compiler is not installed, because the suite then has no kernels. If HALYARD_REQUIRE
// contains the compiler's name, the test fails instead.
func (h *Harness) needCompiler(t *testing.T) {
	of, name := rtc.HIPRTC, "hiprtc"
	if h.Retain != "" {
		of, name = rtc.NVRTC, "nvrtc"
	}
	if rtc.Found(of) {
		return
	}
	if Required(name) {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
}
