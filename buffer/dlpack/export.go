package dlpack

import (
	"context"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/dlpack/internal/abi"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// Export lends a buffer, or a slice of a buffer, to C as a tensor with one axis. It makes the elements current at
// the host, or at the device that the options name, and takes a lease on them, for reading unless [WithMode] names another mode.
// The struct's deleter, which may be called from any thread, releases the lease. Until then the buffer is in use, and
// Close fails with a [buffer.ConflictError], of kind hal.ErrBusy. A buffer that [Import] has made of the struct calls the deleter when its
// memory is freed, which may be some time after its Close, on another goroutine: [hal.Device.Reclaim] of the memory's device waits for that,
// and for host memory the function of [WithDone] says when.
//
// Export waits, until ctx ends, for accesses that exclude the lease. If the memory is the host's, or the consumer's stream
// is not known, it also waits until the elements are current.
//
// The errors are those of [buffer.ReserveAll] and [buffer.Buffer.AcquireHost], and these:
//
//   - ErrInvalidArgument: an option is nil
//   - ErrWrongDevice: the stream belongs to another device
//   - ErrUnsupported: DLPack has no device type for the memory, a legacy struct is requested for reading only, or C cannot call Go
//     on this platform
//
// After an error nothing is lent, no element has changed, and the function of [WithDone] is not called.
func Export[T buffer.Number](ctx context.Context, b *buffer.Buffer[T], opts ...ExportOption) (Managed, error) {
	const op = "export tensor"
	o, err := exportWith(op, b == nil, opts)
	if err != nil {
		return Managed{}, err
	}
	if o.copied {
		c, err := b.Clone(ctx)
		if err != nil {
			return Managed{}, err
		}
		lent := false
		defer func() { // also if an observer panics
			if !lent {
				_ = c.Close()
			}
		}()
		m, err := export(ctx, op, c, 0, []int{c.Len()}, []int{1}, o.ofCopy(c.Close))
		lent = err == nil
		return m, err
	}
	return export(ctx, op, b, 0, []int{b.Len()}, []int{1}, o)
}

// ExportArray is Export for an array, with its shape and strides. The lease covers the elements and the gaps between
// them.
func ExportArray[T buffer.Number](ctx context.Context, a *array.Array[T], opts ...ExportOption) (Managed, error) {
	const op = "export tensor"
	o, err := exportWith(op, a == nil, opts)
	if err != nil {
		return Managed{}, err
	}
	lent := false
	if o.copied {
		c, err := a.Pack(ctx)
		if err != nil {
			return Managed{}, err
		}
		defer func() {
			if !lent {
				_ = c.Close()
			}
		}()
		a, o = c, o.ofCopy(c.Close)
	}
	b, first, err := a.Bounds()
	if err != nil {
		return Managed{}, err
	}
	m, err := export(ctx, op, b, first, a.Shape(), a.Strides(), o)
	lent = err == nil
	return m, err
}

// exportWith returns the options of an export whose buffer or array may be missing.
func exportWith(op string, missing bool, opts []ExportOption) (exportOptions, error) {
	var o exportOptions
	for _, x := range opts {
		if x == nil {
			return o, hal.Errorf(op, hal.ErrInvalidArgument, "nil option")
		}
		o = x.toExport(o)
	}
	return o, o.check(op, missing)
}

func (o *exportOptions) check(op string, missing bool) error {
	reads := o.mode == coherence.Read && !o.copied
	switch {
	case !supported:
		return hal.Errorf(op, hal.ErrUnsupported, "C cannot call Go on this platform")
	case missing:
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil buffer or array")
	case o.mode != coherence.Read && o.mode != coherence.ReadWrite && o.mode != coherence.Overwrite:
		return hal.Errorf(op, hal.ErrInvalidArgument, "invalid mode %v; use Read, ReadWrite or Overwrite", o.mode)
	case o.legacy && reads:
		return hal.Errorf(op, hal.ErrUnsupported, "a legacy struct cannot mark a tensor as read-only; use another mode or a copy")
	}
	return nil
}

// ofCopy returns the options for exporting a copy. finish frees the copy.
func (o exportOptions) ofCopy(finish func() error) exportOptions {
	if o.mode == coherence.Read {
		o.mode = coherence.ReadWrite
	}
	done := o.done
	o.done = func(err error) {
		if cerr := finish(); err == nil {
			err = cerr
		}
		if done != nil {
			done(err)
		}
	}
	return o
}

func export[T buffer.Number](ctx context.Context, op string, b *buffer.Buffer[T], first int, shape, strides []int,
	o exportOptions) (Managed, error) {
	x := &loan{done: o.done}
	t := cTensor{dtype: abi.TypeOf[T]()}
	var zero T
	offset := uintptr(first) * unsafe.Sizeof(zero)
	if o.device == nil && !o.onStream {
		lease, err := b.AcquireHost(ctx, o.mode)
		if err != nil {
			return Managed{}, err
		}
		p := lease.Pointer()
		x.onHost = lease
		x.pin.Pin(p)
		t.device = abi.Device{Type: abi.CPU}
		t.data = uintptr(p) + offset
	} else if err := x.acquire(ctx, op, b.Want(o.mode), offset, &o, &t); err != nil {
		return Managed{}, err
	}
	if b.Len() == 0 {
		t.data, t.byteOffset = 0, 0
	}
	flags := uint64(0)
	if o.mode == coherence.Read {
		flags |= flagReadOnly
	}
	if o.copied {
		flags |= flagCopied
	}
	return lent.begin(x, t, shape, strides, flags, o.legacy), nil
}

// acquire takes a lease on a device, makes the consumer's work wait for the elements, and fills in where the data is. The lease makes
// elements stale elsewhere only when nothing can fail any more.
func (x *loan) acquire(ctx context.Context, op string, want buffer.Want, offset uintptr, o *exportOptions, t *cTensor) (err error) {
	stream, wait, err := streamFor(op, o)
	if err != nil {
		return err
	}
	taken := false
	defer func() { // also if an observer panics
		if !taken {
			_ = x.onDevice.Release()
		}
	}()
	if x.onDevice, err = buffer.ReserveAll(ctx, stream, want); err != nil {
		return err
	}
	if err = locate(op, x.onDevice.At(0).Region(), offset, t); err != nil {
		return err
	}
	if wait || t.device.Type.Host() {
		event, err := layer.RecordShared(stream)
		if err != nil {
			return err
		}
		defer event.Close()
		if err = event.Sync(ctx); err != nil {
			return err
		}
	}
	err = x.onDevice.Commit()
	taken = err == nil
	return err
}

// streamFor returns the stream for the lease, and whether the host must wait for that stream before the consumer may use
// the data.
func streamFor(op string, o *exportOptions) (stream *hal.Stream, wait bool, err error) {
	switch {
	case !o.onStream:
		stream, err = o.device.CopyStream(false)
		return stream, true, err
	case o.stream == nil:
		return nil, false, hal.Errorf(op, hal.ErrInvalidArgument, "nil stream")
	case o.device != nil && !o.stream.Device().Same(o.device):
		return nil, false, hal.Errorf(op, hal.ErrWrongDevice, "the stream belongs to %s, but the memory to %s", o.stream.Device().Name(),
			o.device.Name())
	}
	return o.stream, false, nil
}

// locate fills in the DLPack device and the address of a leased region.
func locate(op string, r hal.Region, offset uintptr, t *cTensor) error {
	mem := r.Mem
	if mem == nil {
		return hal.Errorf(op, hal.ErrClosed, "the lease has ended")
	}
	dev := mem.Device()
	info := dev.Info()
	at := func(kind abi.DeviceType, id int, base uintptr) error {
		if base == 0 && mem.Size() > 0 {
			return hal.Errorf(op, hal.ErrDriver, "%v memory of %s has no address", mem.Kind(), dev.Name())
		}
		t.device = abi.Device{Type: kind, ID: int32(id)}
		t.data = base + uintptr(r.Off) + offset
		return nil
	}
	switch info.Backend {
	case "cuda", "hip":
		onDevice, onHost, shared, id := abi.CUDA, abi.CUDAHost, abi.CUDAManaged, 0
		if info.Backend == "hip" {
			onDevice, onHost, shared, id = abi.ROCm, abi.ROCmHost, abi.ROCm, info.Ordinal
		}
		switch mem.Kind() {
		case hal.KindDevice:
			return at(onDevice, info.Ordinal, mem.Handle())
		case hal.KindShared:
			return at(shared, id, mem.Handle())
		}
		return at(onHost, 0, uintptr(mem.HostPointer()))
	case "opencl":
		switch {
		case !dev.Caps().Has(hal.CapAddress):
			t.device = abi.Device{Type: abi.OpenCL, ID: int32(info.Ordinal)}
			t.data, t.byteOffset = mem.Handle(), r.Off+uint64(offset)
			return nil
		case mem.HostPointer() != nil || mem.Size() == 0 && info.MemoryModel != "usm":
			return at(abi.CPU, 0, uintptr(mem.HostPointer()))
		case info.MemoryModel == "usm":
			return at(abi.OneAPI, info.Ordinal, mem.Handle())
		}
	case "host": // also memory of the backend's discrete devices, though only their streams should access it
		return at(abi.CPU, 0, mem.Handle())
	default:
		if p := mem.HostPointer(); p != nil || mem.Size() == 0 {
			return at(abi.CPU, 0, uintptr(p))
		}
	}
	return hal.Errorf(op, hal.ErrUnsupported, "DLPack has no device type for %v memory of %s", mem.Kind(), dev.Name())
}
