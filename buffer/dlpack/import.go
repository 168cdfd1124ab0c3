package dlpack

import (
	"context"
	"errors"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/dlpack/internal/abi"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// Import takes over a tensor that another library made. Without [WithCopy] nothing is copied: the buffer covers the
// tensor's memory, from its first element to its last, and the array over the buffer has the tensor's shape and strides.
// The buffer now owns the tensor. The tensor's deleter is called once, when the buffer has been
// closed and the last work that uses the memory has finished. For host memory Close itself calls it if no work
// is under way; for memory of a device another goroutine calls it.
//
// T is the type of the tensor's elements, or uint8 for booleans, which are bytes that are 0 or 1: write nothing else to them.
//
// A read-only tensor becomes a frozen buffer, which the program must not unfreeze. As DLPack's protocol requires, the
// producer must have made the data available, before the call, to work on the streams that the program uses.
//
// For a struct of another major version the error is [ErrVersion]. The format allows nothing but to call the deleter of such a
// struct, and Import has called it. After any other error the struct is unchanged and still the caller's:
//
//   - ErrInvalidArgument: an option is nil; the struct is invalid; its elements are not of type T; or elements share
//     one address, as in a broadcast, and no copy is requested
//   - ErrOutOfRange: the size exceeds the address space
//   - ErrMisaligned: the elements are not aligned as T requires, and no copy is requested
//   - ErrWrongDevice: the memory belongs to a device other than that of [WithDevice]
//   - ErrUnsupported: the tensor has no elements, its elements are vectors, its kind of memory is not supported, or Go cannot call
//     C on this platform
//   - ErrClosed: the struct came from Export and has been imported or deleted before
//
// Import cannot check that an address is valid. If the struct contains a wrong address, using the buffer reads and writes
// unrelated memory.
func Import[T buffer.Number](ctx context.Context, m Managed, opts ...ImportOption) (*buffer.Buffer[T], *array.Array[T], error) {
	const op = "import tensor"
	var o options
	for _, x := range opts {
		if x == nil {
			return nil, nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil option")
		}
		o = x.toImport(o)
	}
	if err := m.take(op); err != nil {
		return nil, nil, err
	}
	b, a, err := imported[T](ctx, op, m, o)
	if err != nil {
		m.untake()
	}
	return b, a, err
}

func imported[T buffer.Number](ctx context.Context, op string, m Managed, o options) (*buffer.Buffer[T], *array.Array[T], error) {
	deleter, t, err := m.read(op)
	if err != nil {
		if errors.Is(err, ErrVersion) {
			call(deleter, m.Address)
		}
		return nil, nil, err
	}
	if err := layer.Ended(op, ctx); err != nil && (o.copied || ctx == nil) {
		return nil, nil, err
	}
	var zero T
	align := uint64(unsafe.Alignof(zero))
	onHost, err := t.onHost(op, o.device)
	if err != nil {
		return nil, nil, err
	}
	if onHost && o.copied {
		align = 1
	}
	p, err := t.cover(op, abi.TypeOf[T](), align)
	if err != nil {
		return nil, nil, err
	}
	if onHost && o.copied {
		b, a, err := copied[T](ctx, &t, ints(t.Shape))
		if err == nil {
			call(deleter, m.Address)
		}
		return b, a, err
	}
	mine, own, first, err := inPlace[T](o.device, &t, p, onHost, func() *owner { return newOwner(deleter, m.Address) })
	if err != nil {
		return nil, nil, err
	}
	b, a, err := shaped(ctx, mine, &t, first, o.copied)
	if err != nil {
		_ = mine.Close()
		if o.copied {
			<-own.given // a copy may have begun; when it has ended, the caller owns the tensor again
		}
		return nil, nil, err
	}
	own.owns.Store(true)
	if o.copied {
		err = mine.Close()
	}
	return b, a, err
}

// shaped returns a buffer over a tensor's memory, or a copy of it, with an array of the tensor's shape over the result. first is the place of
// the element whose indices are all 0.
func shaped[T buffer.Number](ctx context.Context, b *buffer.Buffer[T], t *Tensor, first int, copied bool) (*buffer.Buffer[T], *array.Array[T], error) {
	if copied {
		var err error
		if b, err = b.Clone(ctx); err != nil {
			return nil, nil, err
		}
	}
	a, err := array.FromStrides(b, first, ints(t.Shape), ints(t.Strides))
	if err == nil && t.ReadOnly && !copied {
		err = b.Freeze()
	}
	if err != nil && copied {
		_ = b.Close()
	}
	return b, a, err
}

// inPlace returns a buffer over the tensor's memory, its owner, and the place in it of the element whose indices are all 0.
func inPlace[T buffer.Number](dev *hal.Device, t *Tensor, p part, onHost bool, newOne func() *owner) (*buffer.Buffer[T], *owner, int, error) {
	if !onHost {
		own := newOne()
		b, first, err := adopted[T](dev, t, p, own)
		return b, own, first, err
	}
	if dev != nil && layer.SharesHostMemory(dev) {
		// The device may not know the memory. The attempt gets a separate owner: after a failure that owner's over runs on
		// another goroutine, possibly only after the tensor has another owner.
		attempt := newOne()
		if b, _, _ := adopted[T](dev, t, p, attempt); b != nil {
			return b, attempt, p.first, nil
		}
	}
	own := newOne()
	b, err := buffer.AdoptSlice(unsafe.Slice((*T)(at(uintptr(p.start))), p.n), own.over)
	return b, own, p.first, err
}

// owner calls a tensor's deleter when the buffer has released the memory, if the owner owns the tensor by then.
type owner struct {
	deleter, self uintptr
	owns          atomic.Bool
	given         chan struct{} // closed when the buffer has released the memory
}

func newOwner(deleter, self uintptr) *owner {
	return &owner{deleter: deleter, self: self, given: make(chan struct{})}
}

func (o *owner) over() {
	close(o.given)
	if o.owns.Load() {
		call(o.deleter, o.self)
	}
}

// onHost reports whether the memory is imported as host memory, and checks that the device matches it.
func (t *Tensor) onHost(op string, dev *hal.Device) (bool, error) {
	backend := ""
	switch t.device.Type {
	case abi.CPU:
		return true, nil
	case abi.CUDA, abi.CUDAHost, abi.CUDAManaged:
		backend = "cuda"
	case abi.ROCm, abi.ROCmHost:
		backend = "hip"
	case abi.OpenCL, abi.OneAPI:
		backend = "opencl"
	default:
		return false, hal.Errorf(op, hal.ErrUnsupported, "memory of %v is not supported", t.device)
	}
	if dev == nil {
		if t.device.Type.Host() || t.device.Type == abi.CUDAManaged {
			return true, nil
		}
		return false, hal.Errorf(op, hal.ErrWrongDevice, "memory of %v needs the option WithDevice with that device", t.device)
	}
	info := dev.Info()
	addresses := dev.Caps().Has(hal.CapAddress)
	numbered := !t.device.Type.Host() && t.device.Type != abi.CUDAManaged
	if info.Backend != backend || numbered && info.Ordinal != int(t.device.ID) || t.device.Type == abi.OpenCL && addresses ||
		t.device.Type == abi.OneAPI && info.MemoryModel != "usm" {
		return false, hal.Errorf(op, hal.ErrWrongDevice, "memory of %v does not belong to %s", t.device, dev.Name())
	}
	return false, nil
}

// adopted returns a buffer over memory of a device, and the place in it of the element whose indices are all 0.
func adopted[T buffer.Number](dev *hal.Device, t *Tensor, p part, owner *owner) (*buffer.Buffer[T], int, error) {
	f := hal.ExternalMemory{Kind: hal.KindDevice, Handle: uintptr(p.start), Size: p.size}
	// A buffer releases memory while it holds its own locks, and a deleter may wait for other locks, such as Python's.
	f.Release = func() { go owner.over() }
	switch typ := t.device.Type; {
	case p.n == 0:
	case typ == abi.CPU, typ == abi.CUDAHost, typ == abi.ROCmHost:
		f.Kind = hal.KindHost
	case typ == abi.CUDAManaged:
		f.Kind = hal.KindShared
	case typ == abi.OpenCL: // a cl_mem is a handle of the whole memory, so the buffer begins at the start of that memory
		f.Handle, f.Size = t.data, p.start+p.size
		p.first += int(p.start / (p.size / uint64(p.n)))
	default:
		if dev.Caps().Has(hal.CapPointerInfo) {
			info, err := dev.PointerInfo(f.Handle)
			if err != nil {
				return nil, 0, err
			}
			f.Kind = info.Kind // DLPack has one type for ROCm's device and managed memory, and one for all of oneAPI's memory
		}
	}
	mem, err := dev.Import(f)
	if t.device.Type == abi.OpenCL && errors.Is(err, hal.ErrInvalidArgument) {
		f.Kind = hal.KindHost // a cl_mem may be device or host memory
		mem, err = dev.Import(f)
	}
	if err != nil {
		return nil, 0, err
	}
	if t.device.Type == abi.CPU && mem.Size() > 0 && mem.HostPointer() == nil {
		_ = mem.Close()
		return nil, 0, hal.Errorf("adopt", hal.ErrUnsupported, "the host cannot access this memory")
	}
	b, err := buffer.Adopt[T](mem)
	if err != nil {
		_ = mem.Close()
	}
	return b, p.first, err
}

// copied returns a new buffer and array with the elements of a tensor that the host can access.
func copied[T buffer.Number](ctx context.Context, t *Tensor, shape []int) (*buffer.Buffer[T], *array.Array[T], error) {
	n := 1
	for _, e := range shape {
		n *= e
	}
	b, err := buffer.New[T](n)
	if err != nil {
		return nil, nil, err
	}
	err = b.Overwrite(ctx, func(dst []T) error { gather(dst, t); return nil })
	var a *array.Array[T]
	if err == nil {
		a, err = array.FromBuffer(b, shape...)
	}
	if err != nil {
		_ = b.Close()
		return nil, nil, err
	}
	return b, a, nil
}

// gather copies a tensor's elements to dst in row-major order. They need not be aligned.
func gather[T buffer.Number](dst []T, t *Tensor) {
	if len(dst) == 0 {
		return
	}
	var zero T
	elem := int64(unsafe.Sizeof(zero))
	from := unsafe.Add(at(t.data), t.byteOffset)
	out := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), int64(len(dst))*elem)
	outer, run, step := len(t.Shape), int64(1), int64(1)
	if outer > 0 {
		outer--
		run, step = t.Shape[outer], t.Strides[outer]
	}
	index := make([]int64, outer)
	place := int64(0)
	for len(out) > 0 {
		if step == 1 {
			n := run * elem
			copy(out[:n], unsafe.Slice((*byte)(unsafe.Add(from, place*elem)), n))
			out = out[n:]
		} else {
			for i := range run {
				copy(out[:elem], unsafe.Slice((*byte)(unsafe.Add(from, (place+i*step)*elem)), elem))
				out = out[elem:]
			}
		}
		for k := outer - 1; k >= 0; k-- {
			place += t.Strides[k]
			if index[k]++; index[k] < t.Shape[k] {
				break
			}
			place -= index[k] * t.Strides[k]
			index[k] = 0
		}
	}
}

func ints(s []int64) []int {
	t := make([]int, len(s))
	for i, v := range s {
		t[i] = int(v)
	}
	return t
}
