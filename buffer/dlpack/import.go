package dlpack

import (
	"context"
	"errors"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/hal"
)

// ImportOptions say how a tensor is taken. The zero ImportOptions takes memory that the host reads and writes
// in place.
type ImportOptions struct {
	// Device is the device whose memory the tensor is in: the one of the same vendor and ordinal, on whose
	// streams work on it is ordered after what the producer did. Memory that is CUDAHost, ROCmHost or
	// CUDAManaged is known to it as such. For memory of type CPU it may be a unified device, whose own such memory
	// may be; others are of no meaning.
	Device *hal.Device

	// Copy asks for a copy. Of host memory it is row-major and without gaps, whatever the tensor's strides and
	// alignment are, and the deleter is called before Import returns. Of a device's memory it is made on
	// the device, gaps included, and the deleter is called when that is done.
	Copy bool
}

// Import takes a tensor that somebody else made. Nothing is copied: the buffer is over the tensor's memory, from
// its first element to its last, and the array over the buffer has the tensor's shape and strides. The
// tensor belongs to the buffer from now on. Its deleter is called once, when the buffer has been
// closed and the last work that uses the memory has finished: for host memory by Close itself if nothing is
// under way, for memory of a device on a goroutine of its own.
//
// A tensor that is read-only comes as a frozen buffer, which the program must not unfreeze. The
// producer has seen to it that the bytes are there for work on the streams that the program uses, as DLPack's protocol
// has it, before the struct comes here.
//
// A struct of another major version is a [VersionError]; its deleter has been called, which is all that the
// format allows, and so the struct is gone. After any other error it is as it was, and still the caller's:
//
//   - ErrInvalidArgument: what no tensor can be; elements that are not of type T; elements that share
//     a place, as in a broadcast, unless a copy is asked for
//   - ErrOutOfRange: a size that leads outside the address space
//   - ErrMisaligned: elements that are not aligned as T needs it, unless a copy is asked for
//   - ErrWrongDevice: memory of a device that Options.Device is not
//   - ErrUnsupported: no elements, vectors, other kinds of memory, or a platform on which Go cannot call C
//   - ErrClosed: a struct of Export that has been imported or deleted before
//
// Everything that can be checked is, but an address says nothing of what lies there: a struct that
// lies leads to what it leads to.
func Import[T buffer.Element](ctx context.Context, m Managed, o ImportOptions) (*buffer.Buffer[T], *array.Array[T], error) {
	const op = "import tensor"
	if err := m.take(op); err != nil {
		return nil, nil, err
	}
	b, a, err := imported[T](ctx, op, m, o)
	if err != nil {
		m.untake()
	}
	return b, a, err
}

func imported[T buffer.Element](ctx context.Context, op string, m Managed, o ImportOptions) (*buffer.Buffer[T], *array.Array[T], error) {
	deleter, t, err := m.read(op)
	if err != nil {
		if v := (*VersionError)(nil); errors.As(err, &v) {
			call(deleter, m.Address)
		}
		return nil, nil, err
	}
	if ctx.Err() != nil && o.Copy {
		return nil, nil, hal.Interrupted(op, ctx)
	}
	own := newOwner(deleter, m.Address)
	var zero T
	align := uint64(unsafe.Alignof(zero))
	onHost, err := t.onHost(op, o.Device)
	if err != nil {
		return nil, nil, err
	}
	if onHost && o.Copy {
		align = 1
	}
	p, err := t.cover(op, TypeOf[T](), align)
	if err != nil {
		return nil, nil, err
	}
	shape, strides := ints(t.Shape), ints(t.Strides)
	if onHost && o.Copy {
		b, a, err := copied[T](ctx, &t, shape)
		if err == nil {
			call(deleter, m.Address)
		}
		return b, a, err
	}
	var b *buffer.Buffer[T]
	if onHost {
		if o.Device != nil && o.Device.SharesHostMemory() {
			// Or it is memory that the device does not know. An attempt that fails has an owner of its own, who hears of
			// that too late to tell what became of the tensor.
			attempt := newOwner(deleter, m.Address)
			if b, _, _ = adopted[T](o.Device, &t, p, attempt); b != nil {
				own = attempt
			}
		}
		if b == nil {
			b, err = buffer.AdoptSlice(unsafe.Slice((*T)(at(uintptr(p.start))), p.n), own.over)
		}
	} else {
		b, p.first, err = adopted[T](o.Device, &t, p, own)
	}
	if err != nil {
		return nil, nil, err
	}
	mine := b
	var a *array.Array[T]
	if o.Copy {
		if b, err = mine.Clone(ctx); err == nil {
			a, err = array.FromStrides(b, p.first, shape, strides)
			if err != nil {
				_ = b.Close()
			}
		}
	} else {
		a, err = array.FromStrides(b, p.first, shape, strides)
	}
	if err == nil && t.ReadOnly && !o.Copy {
		err = b.Freeze()
	}
	if err != nil {
		_ = mine.Close()
		if o.Copy {
			<-own.given // a copy may have begun, and the tensor is the caller's again
		}
		return nil, nil, err
	}
	own.owns.Store(true)
	if o.Copy {
		err = mine.Close()
	}
	return b, a, err
}

// owner calls a deleter when the memory has been given back, if it came to own it.
type owner struct {
	deleter, self uintptr
	owns          atomic.Bool
	given         chan struct{} // closed when the memory has been given back
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

// onHost reports whether the memory is taken as the host's, and checks it against the device.
func (t *Tensor) onHost(op string, dev *hal.Device) (bool, error) {
	backend := ""
	switch t.Device.Type {
	case CPU:
		return true, nil
	case CUDA, CUDAHost, CUDAManaged:
		backend = "cuda"
	case ROCm, ROCmHost:
		backend = "hip"
	case OpenCL, OneAPI:
		backend = "opencl"
	default:
		return false, hal.Errorf(op, hal.ErrUnsupported, "memory of %v", t.Device)
	}
	if dev == nil {
		if t.Device.Type.host() || t.Device.Type == CUDAManaged {
			return true, nil
		}
		return false, hal.Errorf(op, hal.ErrWrongDevice, "memory of %v, and no device", t.Device)
	}
	info := dev.Info()
	addresses := dev.Caps().Has(hal.CapAddress)
	numbered := !t.Device.Type.host() && t.Device.Type != CUDAManaged
	if info.Backend != backend || numbered && info.Ordinal != int(t.Device.ID) || t.Device.Type == OpenCL && addresses || t.Device.Type == OneAPI && info.MemoryModel != "usm" {
		return false, hal.Errorf(op, hal.ErrWrongDevice, "memory of %v, on %s", t.Device, dev.Name())
	}
	return false, nil
}

// adopted is a buffer over memory of a device, and where in it the tensor's first element is.
func adopted[T buffer.Element](dev *hal.Device, t *Tensor, p part, owner *owner) (*buffer.Buffer[T], int, error) {
	f := hal.ExternalMemory{Kind: hal.KindDevice, Handle: uintptr(p.start), Size: p.size}
	// Buffers give memory back under locks of theirs, and a deleter may wait for others, such as Python's.
	f.Release = func() { go owner.over() }
	switch t.Device.Type {
	case CPU, CUDAHost, ROCmHost:
		f.Kind = hal.KindHost
	case CUDAManaged:
		f.Kind = hal.KindShared
	case OpenCL: // from the start of the memory, which is all that its handle names
		f.Handle, f.Size = t.Data, p.start+p.size
		p.first += int(p.start / (p.size / uint64(p.n)))
	default:
		if dev.Caps().Has(hal.CapPointerInfo) {
			info, err := dev.PointerInfo(f.Handle)
			if err != nil {
				return nil, 0, err
			}
			f.Kind = info.Kind // ROCm names managed memory, and oneAPI all memory, by one type
		}
	}
	mem, err := dev.Import(f)
	if t.Device.Type == OpenCL && errors.Is(err, hal.ErrInvalidArgument) {
		f.Kind = hal.KindHost // both are cl_mem
		mem, err = dev.Import(f)
	}
	if err != nil {
		return nil, 0, err
	}
	if t.Device.Type == CPU && mem.NeedsMap() {
		_ = mem.Close()
		return nil, 0, hal.Errorf("adopt", hal.ErrUnsupported, "the host has the memory")
	}
	b, err := buffer.Adopt[T](mem)
	if err != nil {
		_ = mem.Close()
	}
	return b, p.first, err
}

// copied is a new array with the elements of a tensor that the host can touch.
func copied[T buffer.Element](ctx context.Context, t *Tensor, shape []int) (*buffer.Buffer[T], *array.Array[T], error) {
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

// gather copies a tensor's elements to dst, the last index fastest. They need not be aligned.
func gather[T buffer.Element](dst []T, t *Tensor) {
	var zero T
	elem := int64(unsafe.Sizeof(zero))
	from := unsafe.Add(at(t.Data), t.ByteOffset)
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
