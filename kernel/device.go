package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// Kernel is a kernel of a [Program], for all devices. Several goroutines may launch it at once.
type Kernel struct {
	p    *Program
	name string
	call string                      // for errors and traces
	on   atomic.Pointer[[]*onDevice] // replaced, never changed

	divided atomic.Pointer[Kernel] // for parts of grids, nil if there was no launch of one
	watches atomic.Pointer[Kernel] // for launches whose loops a device may end, in the same way
	wide    atomic.Pointer[Kernel] // for launches with integers of 64 bits, in the same way
	types   []string               // of the arguments, in C; only for parts of grids
}

// onDevice is a kernel on one device.
type onDevice struct {
	p      *Program    // that has the kernel
	dev    *hal.Device // the device's own handle
	kernel *hal.Kernel
	info   hal.KernelInfo
	round  uint64          // Program.round when the kernel was loaded
	passes bool            // shared memory is a parameter
	sites  []string        // Source.Indexes if the kernel reports what is wrong, else nil
	prints []string        // Source.Prints if the kernel prints
	rounds int             // driver.Compute.LoopRounds if the kernel may take more and does not report it, else 0
	most   int64           // Written.Most if its integers have 32 bits, else 0
	alone  bool            // there is no other code for the device
	in     gridgen.Written // Source.Kernels of the kernel
	call   string          // for errors and traces: "Launch saxpy"
	calls  []string        // the same with an argument: "Launch saxpy(y)"

	crossed atomic.Int32 // of the first device of a Split: how many launches in a row copied elements, counted up to crossings
}

// Kernel returns the kernel with that name. If the program does not have it, launches fail with an error of kind hal.ErrNotFound.
func (p *Program) Kernel(name string) *Kernel {
	return &Kernel{p: p.with(name), name: name, call: "Launch " + name}
}

// Of returns the kernel on a device, for [hal.Stream.Launch]. It loads the program if that has not been done.
// If HALYARD_CHECK contains bounds, kernels that the command "halyard kernels" translated have one more parameter on devices, so launches
// by package hal are refused there; see Source.Indexes.
func (k *Kernel) Of(ctx context.Context, dev *hal.Device) (*hal.Kernel, error) {
	d, err := k.device(ctx, dev)
	if err != nil {
		return nil, err
	}
	return d.kernel, nil
}

func (k *Kernel) device(ctx context.Context, dev *hal.Device) (*onDevice, error) {
	if k == nil || k.p == nil {
		return nil, hal.Errorf("launch", hal.ErrInvalidArgument, "nil or zero kernel")
	}
	if ctx == nil {
		return nil, layer.Ended("launch", ctx)
	}
	round := k.p.round.Load()
	list := k.on.Load()
	if list != nil {
		for _, d := range *list {
			if d.round == round && d.dev.Same(dev) {
				return d, nil
			}
		}
	}
	d, err := k.load(ctx, dev, round)
	if err != nil {
		return nil, err
	}
	for {
		old := k.on.Load()
		fresh := []*onDevice{d}
		if old != nil {
			for _, o := range *old {
				if o.round == round && !o.dev.Same(dev) && !closed(o.kernel.Module()) {
					fresh = append(fresh, o)
				}
			}
		}
		if k.on.CompareAndSwap(old, &fresh) {
			return d, nil
		}
	}
}

// load finds the kernel in its program on a device, which compiles the program if that has not been done.
func (k *Kernel) load(ctx context.Context, dev *hal.Device, round uint64) (*onDevice, error) {
	name := k.name
	in, written := k.p.src.Kernels[name]
	m, err := k.p.module(ctx, "launch", dev)
	if m != nil && m.lacks[in.Code] != nil {
		return nil, m.lacks[in.Code] // which names this kernel, if the device can run none
	} else if err != nil {
		return nil, err
	}
	if written && !k.p.src.runsGo(dev) {
		name = in.Code
	}
	found, err := m.kernel(name)
	if err != nil {
		return nil, k.lacking(dev, name, err)
	}
	if written {
		if err := k.describe(found, dev, &in); err != nil {
			return nil, err
		}
	}
	calls := make([]string, len(in.Params))
	for i, param := range in.Params {
		calls[i] = k.call + "(" + param + ")"
	}
	d := &onDevice{p: k.p, in: in, call: k.call, calls: calls, dev: layer.Common(dev), kernel: found, info: found.Info(), round: round,
		passes: dev.Info().Compute.SharedByParam}
	if d.alone = m.each != nil; k.p.src.narrow(dev, d.alone) {
		d.most = in.Most
	}
	if k.p.src.prints() {
		d.prints = k.p.src.Prints
	}
	c := dev.Info().Compute
	switch {
	case k.p.src.runsGo(dev):
	case c.Nesting > 0 && in.Nests > c.Nesting:
		return nil, failure("launch", dev, hal.ErrUnsupported, "kernel %s nests %d conditions (%s), and the device's driver drops those beyond %d; "+
			"write some one after the other, as the cases of a switch, or use another driver", k.name, in.Nests, in.NestsAt, c.Nesting)
	case k.p.src.reports(dev):
		d.sites = k.p.src.Indexes
	case in.Rounds != nil && checkingRounds.Load():
		d.rounds = 1
	case in.Rounds != nil:
		d.rounds = c.LoopRounds
	}
	return d, nil
}

// describe gives hal the names of the parameters of a kernel that was translated, and how many threads a block can have.
func (k *Kernel) describe(found *hal.Kernel, dev *hal.Device, in *gridgen.Written) error {
	names := slices.Clone(in.Params)
	if in.SharedElem > 0 && dev.Info().Compute.SharedByParam {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(names[len(names)-1], "len("), ")"))
	}
	if k.p.src.reports(dev) {
		names = append(names, "what the kernel reports")
	}
	most := uint64(0)
	if stack := dev.Info().Compute.BlockStack; in.Private > 0 && stack > 0 && !k.p.src.runsGo(dev) {
		if most = stack / uint64(in.Private); most == 0 {
			return failure("launch", dev, hal.ErrUnsupported, "kernel %s has variables of %d bytes in each thread, and the device "+
				"takes %d in all threads of a block; keep them in a buffer", k.name, in.Private, stack)
		}
	}
	if in.Threads > 0 && (most == 0 || most > uint64(in.Threads)) {
		most = uint64(in.Threads)
	}
	layer.Describe(found, k.name, append(names, "the part of the grid"), uint32(min(most, math.MaxUint32)))
	return nil
}

// lacking returns the error for a kernel that the program does not have on a device.
func (k *Kernel) lacking(dev *hal.Device, name string, err error) error {
	src := &k.p.src
	needs := src.Kernels[k.name].Needs
	switch {
	case !errors.Is(err, hal.ErrNotFound) || src.Indexes == nil || !strings.Contains(src.Portable, "KERNEL void "+name+"("):
		return err
	case needs != "":
		return failure("launch", dev, hal.ErrUnsupported, "kernel %s needs %s, and the device does not have that", k.name, needs)
	}
	return failure("launch", dev, hal.ErrUnsupported, "kernel %s computes with float64, which the device does not have", k.name)
}

// covers returns an error if the grid has fewer dimensions than the kernel uses.
func (d *onDevice) covers(grid hal.Grid) error {
	if has := layer.Dimensions(grid); has > 0 && has < d.in.Dims {
		return d.refuse("launch", "its threads have %d dimensions (%s), and the grid has %d; give a number for each, as in Over(%s)",
			d.in.Dims, d.in.DimsAt, has, [...]string{"n", "width, height", "width, height, depth"}[min(d.in.Dims, 3)-1])
	}
	return nil
}

// mostSized is how many bytes the memory of grid.SharedSlice has at most on any device.
const mostSized = 1 << 24

// holds returns an error if the shared memory that a launch asks for cannot be had on the device.
func (d *onDevice) holds(args []Arg) error {
	in := &d.in
	if in.SharedElem == 0 || len(args) < len(in.Params) || args[len(in.Params)-1].buffer {
		return nil // the launch is refused if arguments are missing, or are no numbers
	}
	n, most := integer(args, len(in.Params)-1), d.dev.Info().Compute.Shared
	if d.info.MaxShared != 0 {
		most = d.info.MaxShared + d.info.StaticShared
	}
	switch static := max(in.SharedStatic, int64(d.info.StaticShared)); {
	case n < 0:
		return d.refuse("launch", "%s: grid.SharedSlice of %d elements, and a length is not negative", in.SharedAt, n)
	case n > mostSized/in.SharedElem:
		return d.refuse("launch", "%s: grid.SharedSlice of %d elements of %d bytes, and it has at most %d bytes", in.SharedAt, n, in.SharedElem, mostSized)
	case most != 0 && uint64(n*in.SharedElem+static) > most:
		return d.refuse("launch", "%s: grid.SharedSlice of %d elements makes %d bytes of shared memory, and a block on the device has at most %d", in.SharedAt, n,
			n*in.SharedElem+static, most)
	}
	return nil
}

// sized appends the argument of a device for the shared memory that a launch asks for. It has at least one element, because Vulkan and OpenCL
// refuse shared memory of no bytes.
func (d *onDevice) sized(list []hal.Arg, args []Arg) []hal.Arg {
	if d.in.SharedElem == 0 || len(args) < len(d.in.Params) {
		return list
	}
	return append(list, hal.Shared(int(max(integer(args, len(d.in.Params)-1), 1)*d.in.SharedElem)))
}

// wants appends to the list one for each buffer among the arguments.
func (d *onDevice) wants(list []buffer.Want, args []Arg) ([]buffer.Want, error) {
	const op = "launch"
	n := 0
	for i := range args {
		a := &args[i]
		if a.buffer {
			if a.operand == nil {
				return list, d.refuse(op, "%s is a nil buffer", d.argument(i))
			}
			if a.mode != coherence.Read && n < len(d.info.Params) && d.info.Params[n].Const {
				return list, d.refuse(op, "%s is passed for writing, but parameter %s is const", d.argument(i), d.param(n))
			}
			call := d.call
			if i < len(d.calls) {
				call = d.calls[i]
			}
			list = append(list, a.operand.Want(a.mode).For(call))
		}
		if d.passes || !layer.IsShared(a.arg) {
			n++
		}
	}
	return list, nil
}

// refuse returns the error of a launch that is refused, and fail one of another kind.
func (d *onDevice) refuse(op, format string, args ...any) error {
	return d.fail(hal.ErrInvalidArgument, op, format, args...)
}

func (d *onDevice) fail(kind error, op, format string, args ...any) *hal.Error {
	return failure(op, d.dev, kind, "kernel %s: %s", d.info.Name, fmt.Sprintf(format, args...))
}

// unleased returns the error of a launch whose leases were refused. If that is due to an argument, the error names it.
func (d *onDevice) unleased(op string, err error, args []Arg, wants []buffer.Want) error {
	for n, i := range buffersOf(args) {
		if why := wants[n].Err(); why != nil {
			e := d.fail(hal.ErrInvalidArgument, op, "%s", d.argument(i))
			if inner, ok := why.(*hal.Error); ok {
				e.Kind, e.Detail, why = inner.Kind, e.Detail+": "+inner.Detail, inner.Err
			}
			e.Err = why
			return e
		}
	}
	return err
}

// await waits for the stream. behind is an event behind the kernel, which await closes. bad is why the kernel failed, or nil, also if it
// has not ended; err may be of other work as well.
func (d *onDevice) await(ctx context.Context, stream *hal.Stream, behind *hal.Event) (err, bad error) {
	err = behind.Sync(ctx)
	_ = behind.Close()
	if err == nil {
		return stream.Sync(ctx), nil
	}
	failed := d.failed("launch", err)
	if ctx.Err() != nil && errors.Is(err, hal.ErrNotReady) {
		return failed, nil
	}
	return failed, failed
}

// failed returns an error that says that the kernel failed, because of an error of its stream.
func (d *onDevice) failed(op string, err error) error {
	e := failure(op, d.dev, hal.ErrDriver, "kernel %s failed", d.info.Name)
	if inner, ok := err.(*hal.Error); ok {
		e.Kind = inner.Kind
	}
	e.Err = err
	return e
}

// argument names an argument.
func (d *onDevice) argument(i int) string {
	if i < len(d.in.Params) {
		return "argument " + d.in.Params[i]
	}
	return fmt.Sprintf("argument %d", i)
}

// param names a parameter.
func (d *onDevice) param(n int) string {
	if name := d.info.Params[n].Name; name != "" {
		return fmt.Sprintf("%d (%s)", n, name)
	}
	return fmt.Sprint(n)
}
