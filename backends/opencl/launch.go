//go:build opencl

package opencl

import (
	"fmt"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Launch implements driver.Launcher. The arguments are captured by the enqueue (OpenCL 1.2, section 5.7.2), so the
// object that held them can be used again at once.
func (s *stream) Launch(k driver.Kernel, l *driver.Launch) error {
	const op = "launch"
	d := s.dev
	own := k.(*kernel)
	if err := own.fits(op, l); err != nil {
		return err
	}
	s.pace()
	o, st := own.take()
	if st != success {
		return own.failed(op, "clCreateKernel", st, l)
	}
	for i := range l.Args {
		if err := own.set(op, o, uint32(i), &l.Args[i], l); err != nil {
			own.give(o)
			return err
		}
	}
	dims, global, local := sizes(l)
	s.mu.Lock()
	ev, st := d.t.ndRange(s.queue, o.cl, dims, global, local)
	if st != success {
		s.mu.Unlock()
		own.give(o)
		return own.failed(op, "clEnqueueNDRangeKernel", st, l)
	}
	err := s.enqueued(op, "clEnqueueNDRangeKernel", ev, st)
	own.give(o)
	return err
}

// fits returns an error if the launch has another number of arguments than the kernel, which package hal may not know.
func (k *kernel) fits(op string, l *driver.Launch) error {
	if len(l.Args) != k.count {
		return k.of.dev.refuse(op, driver.ErrInvalidArgument, "kernel %s: %d arguments, it takes %d", k.info.Name, len(l.Args), k.count)
	}
	return nil
}

// sizes returns the numbers of threads of a launch and of a block, and how many dimensions the launch needs.
func sizes(l *driver.Launch) (dims uint32, global, local [3]uint64) {
	dims = 1
	for i := range global {
		local[i] = uint64(l.Block[i])
		global[i] = uint64(l.Grid[i]) * local[i]
		if global[i] > 1 {
			dims = uint32(i) + 1
		}
	}
	return dims, global, local
}

// set sets one argument.
func (k *kernel) set(op string, o *object, index uint32, a *driver.Arg, l *driver.Launch) error {
	d := k.of.dev
	t := d.t
	st, api := success, "clSetKernelArg"
	now := setting{kind: a.Kind, size: a.Size, bits: a.Bits}
	again := a.Ptr == nil // now describes the argument completely, so it need not be set if the last setting was equal
	switch a.Kind {
	case driver.ParamShared:
		now.bits = [2]uint64{}
	case driver.ParamPointer:
		m, _ := a.Region.Mem.(*memory)
		now = setting{kind: a.Kind, mem: m, off: a.Region.Off}
		if m == nil || now.off >= m.size { // an empty region with no byte behind its address
			var err error
			if now.mem, err = d.readable(); err != nil {
				return err
			}
			now.off = 0
		}
		again = d.tier != tierBuffer || now.off == 0
	}
	if again && o.args[index] == now {
		return nil
	}
	o.args[index] = setting{}
	switch a.Kind {
	case driver.ParamShared:
		st = t.setKernelArg(o.cl, index, max(uint64(a.Size), 1), nil) // OpenCL refuses shared memory of 0 bytes
	case driver.ParamPointer:
		m := now.mem
		addr := m.addr + uintptr(now.off)
		switch {
		case d.tier == tierUSM && !d.hw.takesAny:
			api = "clSetKernelArgMemPointerINTEL"
			st = d.hw.usm.setKernelArg(o.cl, index, addr)
		case d.tier != tierBuffer:
			api = "clSetKernelArgSVMPointer"
			st = t.setKernelArgSVM(o.cl, index, addr)
		case now.off == 0:
			st = t.setKernelArg(o.cl, index, wordSize, unsafe.Pointer(&m.mem))
		default:
			b, err := m.from(op, now.off)
			if err != nil {
				err := err.(*driver.Error)
				err.Detail = fmt.Sprintf("kernel %s, argument %d: %s", k.info.Name, index, err.Detail)
				return err
			}
			o.parts = append(o.parts, b)
			st = t.setKernelArg(o.cl, index, wordSize, unsafe.Pointer(&b.mem))
		}
	default:
		st = t.setKernelArg(o.cl, index, uint64(a.Size), a.Value())
		if st == invalidArgSize && d.hw.cutsStructs && k.structure(index) {
			for n := uint64(a.Size) - 1; st == invalidArgSize && n > 0 && n+vendorAlign > uint64(a.Size); n-- {
				st = t.setKernelArg(o.cl, index, n, a.Value())
			}
		}
	}
	if st == success {
		if again {
			o.args[index] = now
		}
		return nil
	}
	err := k.failed(op, api, st, l)
	err.Detail += fmt.Sprintf("; argument %d is a %v of %d bytes", index, a.Kind, a.Size)
	return err
}

// structure reports whether a parameter is a structure, or may be one.
func (k *kernel) structure(index uint32) bool {
	return !k.info.Known || k.info.Params[index].Kind == driver.ParamValue && k.info.Params[index].Size == 0
}

// failed returns the error for the status of a call that belongs to a launch.
func (k *kernel) failed(op, api string, st status, l *driver.Launch) *driver.Error {
	err := k.of.dev.fail(op, api, st)
	if st == outOfResources { // registers or shared memory; a shortage of memory has statuses of its own
		err.Kind = driver.ErrInvalidArgument
	}
	shared := k.info.StaticShared
	for i := range l.Args {
		if l.Args[i].Kind == driver.ParamShared {
			shared += uint64(l.Args[i].Size)
		}
	}
	err.Detail = fmt.Sprintf("kernel %s: %dx%dx%d blocks of %dx%dx%d threads (a block has at most %d) "+
		"with %d bytes of shared memory (a block has at most %d)",
		k.info.Name, l.Grid[0], l.Grid[1], l.Grid[2], l.Block[0], l.Block[1], l.Block[2], k.info.MaxThreads,
		shared, k.of.dev.hw.compute.Shared)
	return err
}
