package hal

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/callsite"
	"github.com/go-halyard/halyard/internal/layer/slot"
	"github.com/go-halyard/halyard/internal/layout"
)

// Arg is one argument of a launch: [Value], [Struct], [At] or [Shared]. It is a plain value; making one allocates nothing.
type Arg struct {
	kind driver.ParamKind
	bad  bool           // ptr is a *string that says why the argument cannot be used
	size uint32         // bytes
	bits [2]uint64      // a small value, or offset and length of a region
	ptr  unsafe.Pointer // a large value, or a region's *Memory
}

// refused is an argument that cannot be used.
func refused(kind driver.ParamKind, why *string) Arg {
	return Arg{kind: kind, bad: true, ptr: unsafe.Pointer(why)}
}

// region is the region of an argument that is a pointer.
func (a *Arg) region() Region {
	return Region{Mem: (*Memory)(a.ptr), Off: a.bits[0], Len: a.bits[1]}
}

var (
	nilStruct      = "a nil pointer to a structure"
	sharedNegative = "a negative size of shared memory"
	sharedTooMuch  = "more than 2 GiB of shared memory"
)

// Number is a type of fixed width that kernels take by value.
type Number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Value passes a number, real or complex, or a bool, which C takes as a byte that is 0 or 1.
func Value[T interface {
	Number | ~complex64 | ~complex128 | ~bool
}](v T) Arg {
	a := Arg{kind: driver.ParamValue, size: uint32(unsafe.Sizeof(v))}
	*(*T)(unsafe.Pointer(&a.bits)) = v
	return a
}

// Struct passes a structure or an array. Its members are numbers of fixed width and bool, or structures and arrays of them, laid out as Go
// does it. C lays out the same members in the same way. The exception is a number of 8 bytes on a 32-bit system: C aligns it to 8
// bytes and Go to 4, so a structure where that makes a difference is refused; put padding before the number. The value must not change
// before the launch: a small one is copied now, a large one by Launch.
func Struct[T any](v *T) Arg {
	if v == nil {
		return refused(driver.ParamValue, &nilStruct)
	}
	size := unsafe.Sizeof(*v)
	if why := layoutOf(reflect.TypeFor[T]()); why != nil {
		return refused(driver.ParamValue, why)
	}
	a := Arg{kind: driver.ParamValue, size: uint32(size)}
	if size <= unsafe.Sizeof(a.bits) {
		*(*T)(unsafe.Pointer(&a.bits)) = *v
	} else {
		a.ptr = unsafe.Pointer(v)
	}
	return a
}

// At passes the address of the region's first byte. A Go function on the host gets the whole region. A region of length 0 also passes its
// address. On a device without CapAddress the offset must be 0 or a multiple of an alignment that the device sets.
func At(r Region) Arg {
	return Arg{kind: driver.ParamPointer, size: 8, ptr: unsafe.Pointer(r.Mem), bits: [2]uint64{r.Off, r.Len}}
}

// Shared gives each block n bytes of memory that its threads share. In OpenCL C it stands for a parameter that is a pointer to local
// memory. CUDA, HIP and Go kernels take no parameter for it: there it may stand anywhere among the arguments, but only once.
func Shared(n int) Arg {
	switch {
	case n < 0:
		return refused(driver.ParamShared, &sharedNegative)
	case n > 1<<31-1:
		return refused(driver.ParamShared, &sharedTooMuch)
	}
	return Arg{kind: driver.ParamShared, size: uint32(n)}
}

// maxValue is the most bytes of one argument.
const maxValue = 4096

// refusedLayouts has the reasons of layoutOf, so that refusing a type again makes no garbage.
var refusedLayouts sync.Map // of reflect.Type to *string

// layoutOf returns why kernels cannot take values of the type, or nil.
func layoutOf(t reflect.Type) (why *string) {
	bad := layout.Of(t).Bad
	if bad == nil && t.Size() <= maxValue {
		return nil
	}
	if known, ok := refusedLayouts.Load(t); ok {
		return known.(*string)
	}
	text := fmt.Sprintf("a %v of %d bytes; a value has 1 to %d", t, t.Size(), maxValue)
	if bad != nil {
		text = fmt.Sprintf("a %v: %s %s; only numbers of fixed width and bool are passed by value", t, bad.Path, bad.Why)
	}
	refusedLayouts.Store(t, &text)
	return &text
}

// launch is a driver's launch, kept in a pool for later launches.
type launch struct {
	driver.Launch
	args [16]driver.Arg // memory for Args; elements that are not in use are zero
}

var launches = sync.Pool{New: func() any { return new(launch) }}

// give returns the launch to the pool.
func (l *launch) give() {
	clear(l.args[:min(len(l.Args), len(l.args))])
	l.Args = nil
	launches.Put(l)
}

// Launch enqueues a kernel, once for each thread of the grid, and does not wait for it. It needs CapKernels. Values are copied
// before it returns. On the host a launch of a few microseconds may have run by then. If the kernel's memory or module is closed while the
// kernel runs, it is given back only after the kernel has finished.
//
// Number, kinds and sizes of the arguments and the shape of the grid are checked against what the kernel takes and the device can do: a
// launch that is refused has no effect. The error is of kind ErrInvalidArgument for a wrong argument, a block that is too large, or too
// much shared memory; ErrOutOfRange for too many blocks; ErrWrongDevice for a kernel or memory of another device; ErrClosed for a closed
// module or memory. If the kernel's parameters are not known, the launch is refused unless the grid is [Grid.Unchecked].
//
// If a kernel fails while it runs, the error is reported as for other work: by Sync and Done of the stream and of later events.
func (s *Stream) Launch(k *Kernel, g Grid, args ...Arg) error {
	return s.launch(k, g, slot.How{}, args)
}

// launch is layer.Launch.
func (s *Stream) launch(k *Kernel, g Grid, how slot.How, args []Arg) error {
	const op = "launch"
	st := s.state()
	if err := st.begin(op); err != nil {
		return err
	}
	var caller callsite.Site
	if st.teller != nil {
		callsite.Here(&caller)
	}
	err := st.launch(op, k, &g, how, args, &caller)
	s.end()
	return err
}

// launch enqueues a kernel, unless the grid is empty or only the checks are wanted.
func (st *streamState) launch(op string, k *Kernel, g *Grid, how slot.How, args []Arg, caller *callsite.Site) error {
	if k == nil || k.s == nil {
		return st.dev.Failure(op, ErrInvalidArgument, "nil or zero kernel")
	}
	m := k.s.of
	if !m.Enter() {
		return k.s.failure(op, ErrClosed, "its module is closed")
	}
	l := launches.Get().(*launch)
	l.Caller, l.Key, l.Failed = *caller, how.Key, how.Failed
	used, empty, err := st.check(op, l, k.s, g, args)
	if err == nil && !empty && !how.Check {
		for i := range args[:used] {
			if a := &args[i]; a.kind == driver.ParamPointer {
				(*Memory)(a.ptr).s.Note(&st.User)
			}
		}
		m.Note(&st.User)
		if err = st.dev.Check(st.Drv.(driver.Launcher).Launch(k.s.drv, &l.Launch)); err == nil {
			st.launched.add(&k.s.info.Name)
		}
	}
	for i := range args[:used] {
		if a := &args[i]; a.kind == driver.ParamPointer {
			(*Memory)(a.ptr).s.Leave()
		}
	}
	l.give()
	m.Leave()
	runtime.KeepAlive(k)
	return err
}

// check makes the checks of a launch, and gives grid and arguments to the driver's launch. The memory of the first used arguments is in
// use, also after an error. empty says that there is nothing to launch.
func (st *streamState) check(op string, l *launch, k *kernelState, g *Grid, args []Arg) (used int, empty bool, err error) {
	_, ok := st.Drv.(driver.Launcher)
	switch {
	case k.of.dev != st.dev:
		return 0, false, st.dev.Failure(op, ErrWrongDevice, "kernel %s is loaded on %s", k.info.Name, k.of.dev.Info.Name())
	case !ok:
		return 0, false, st.dev.Failure(op, ErrUnsupported, "kernels are not supported")
	}
	if l.Grid, l.Block, empty, err = k.resolve(op, g); err != nil {
		return 0, false, err
	}
	used, err = st.arguments(op, l, k, args, g.unchecked)
	return used, empty, err
}

// arguments checks the arguments and gives them to the driver's launch.
func (st *streamState) arguments(op string, l *launch, k *kernelState, args []Arg, unchecked bool) (used int, err error) {
	info, added := &k.info, false
	if !info.Known && !unchecked && !info.Checks {
		return 0, k.failure(op, ErrInvalidArgument,
			"it is not known what the kernel takes; declare it in Image.Params, or make the grid Unchecked")
	}
	l.Shared, l.Args = 0, l.args[:0]
	shared := uint64(0)
	for i := range args {
		a, n := &args[i], len(l.Args)
		switch {
		case a.kind == driver.ParamUnknown:
			return i, k.failure(op, ErrInvalidArgument, "argument %d is the zero Arg", i)
		case a.bad:
			return i, k.failure(op, ErrInvalidArgument, "argument %d is %s", i, *(*string)(a.ptr))
		case a.kind == driver.ParamShared && !k.takesShared(n):
			if k.sharedByParam() {
				return i, k.failure(op, ErrInvalidArgument, "argument %d is shared memory, but %s", i, k.wants(n))
			}
			if added {
				return i, k.failure(op, ErrInvalidArgument, "argument %d is shared memory, of which a launch has one piece", i)
			}
			added, l.Shared = true, uint64(a.size)
			shared += uint64(a.size)
			continue
		case info.Known && n >= len(info.Params):
			return i, k.failure(op, ErrInvalidArgument, "more arguments than the %d that it takes", len(info.Params))
		case info.Known && !fits(a, &info.Params[n]):
			return i, k.failure(op, ErrInvalidArgument, "argument %d is %s, but %s", i, a.describe(), k.wants(n))
		}
		if n < len(l.args) {
			l.Args = l.args[:n+1] // the new element is zero
		} else {
			l.Args = append(l.Args, driver.Arg{})
		}
		d := &l.Args[n]
		d.Kind, d.Size = a.kind, a.size
		if a.kind != driver.ParamPointer {
			if d.Bits = a.bits; a.kind == driver.ParamShared {
				shared += uint64(a.size)
			}
			if a.ptr != nil {
				d.Ptr = a.ptr
			}
			continue
		}
		m := (*Memory)(a.ptr)
		if m == nil || m.s == nil || m.s.dev != st.dev || a.bits[0] > m.s.Size || a.bits[1] > m.s.Size-a.bits[0] || !m.s.Enter() {
			if err := st.foreignArgument(op, a); err != nil {
				return i, err
			}
		}
		if m.s.Size > 0 {
			d.Region = driver.Region{Mem: m.s.drv, Off: a.bits[0], Len: a.bits[1]}
		}
	}
	if info.Known && len(l.Args) < len(info.Params) {
		return len(args), k.failure(op, ErrInvalidArgument, "%d arguments, it takes %d; %s", len(l.Args), len(info.Params), k.wants(len(l.Args)))
	}
	if shared > 0 {
		err = k.room(op, shared)
	}
	return len(args), err
}

// foreignArgument begins the use of memory of another device, or says why the memory cannot be used.
func (st *streamState) foreignArgument(op string, a *Arg) (err error) {
	r := a.region()
	if err = st.use(op, r.Mem); err != nil {
		return err
	}
	switch {
	case !st.reaches(r.Mem):
		err = st.foreign(op, r.Mem)
	case !r.inside():
		err = r.outside(op)
	}
	if err != nil {
		r.Mem.s.Leave()
	}
	return err
}

// room returns an error if a launch has more shared memory than there is for the kernel.
func (k *kernelState) room(op string, shared uint64) error {
	most, limited := k.info.MaxShared, k.info.MaxShared != 0
	if c := &k.of.dev.Info.Compute; !limited && c.Shared != 0 {
		most, limited = c.Shared-min(c.Shared, k.info.StaticShared), true
	}
	if shared > most && limited {
		return k.failure(op, ErrInvalidArgument, "%d bytes of shared memory; the limit for this kernel is %d", shared, most)
	}
	return nil
}

// takesShared reports whether shared memory may be given for parameter n.
func (k *kernelState) takesShared(n int) bool {
	switch info := &k.info; {
	case !info.Known:
		return k.sharedByParam()
	case n >= len(info.Params):
		return false
	default:
		kind := info.Params[n].Kind
		return kind == driver.ParamShared || kind == driver.ParamUnknown && k.sharedByParam()
	}
}

// sharedByParam reports whether shared memory is a parameter of kernels, as in OpenCL.
func (k *kernelState) sharedByParam() bool { return k.of.dev.Info.Compute.SharedByParam }

// fits reports whether the argument may be given for the parameter.
func fits(a *Arg, p *Param) bool {
	return (p.Kind == driver.ParamUnknown || p.Kind == a.kind) && (p.Size == 0 || p.Size == a.size || a.kind == driver.ParamShared)
}

// wants says what the kernel takes as parameter n.
func (k *kernelState) wants(n int) string {
	if n >= len(k.info.Params) {
		return fmt.Sprintf("the kernel takes %d arguments", len(k.info.Params))
	}
	p := &k.info.Params[n]
	text := fmt.Sprintf("parameter %d", n)
	if p.Name != "" {
		text += " (" + p.Name + ")"
	}
	switch {
	case p.Kind == driver.ParamPointer:
		return text + " is a pointer"
	case p.Kind == driver.ParamShared:
		return text + " is shared memory"
	case p.Size != 0:
		return text + fmt.Sprintf(" is a %v of %d bytes", p.Kind, p.Size)
	}
	return text + " is a " + p.Kind.String()
}

// describe says what the argument is.
func (a *Arg) describe() string {
	switch a.kind {
	case driver.ParamPointer:
		return "a pointer"
	case driver.ParamShared:
		return "shared memory"
	}
	return fmt.Sprintf("a value of %d bytes", a.size)
}
