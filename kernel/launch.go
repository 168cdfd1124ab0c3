package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
)

// Operand is what can be passed to a kernel by its address: a [*buffer.Buffer], a *halyard.Buffer or a contiguous *array.Array.
type Operand interface {
	Want(mode coherence.Mode) buffer.Want
}

// Arg is one argument of a kernel. It is a plain value and may be used for many launches.
type Arg struct {
	arg     hal.Arg
	operand Operand
	buffer  bool
	mode    coherence.Mode
}

// Value passes a number or a bool: see [hal.Value].
func Value[T interface {
	hal.Number | ~complex64 | ~complex128 | ~bool
}](v T) Arg {
	return Arg{arg: hal.Value(v)}
}

// Struct passes a structure of fixed layout, or an array of numbers: see [hal.Struct]. It is read at each launch.
func Struct[T any](v *T) Arg { return Arg{arg: hal.Struct(v)} }

// Shared gives each block n bytes of memory that its threads share: see [hal.Shared].
func Shared(n int) Arg { return Arg{arg: hal.Shared(n)} }

// In passes elements that the kernel only reads.
func In(x Operand) Arg { return Arg{operand: x, buffer: true, mode: coherence.Read} }

// InOut passes elements that the kernel may read and write.
func InOut(x Operand) Arg { return Arg{operand: x, buffer: true, mode: coherence.ReadWrite} }

// Out passes elements that the kernel writes, all of them, and does not read before. Nothing is copied to the device. Elements that the
// kernel does not write have unspecified contents afterwards.
func Out(x Operand) Arg { return Arg{operand: x, buffer: true, mode: coherence.Overwrite} }

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
	dev    *hal.Device // the device's own handle
	kernel *hal.Kernel
	info   hal.KernelInfo
	round  uint64   // Program.round when the kernel was loaded
	passes bool     // shared memory is a parameter
	sites  []string // Source.Indexes if the kernel reports what is wrong, else nil
	rounds int      // driver.Compute.LoopRounds if the kernel may take more and does not report it, else 0
	most   int64    // Written.Most if its integers have 32 bits, else 0
	alone  bool     // there is no other code for the device
	in     Written  // Source.Kernels of the kernel
	calls  []string // for errors and traces: the launch and an argument, "Launch saxpy(y)"
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
		if src := &k.p.src; errors.Is(err, hal.ErrNotFound) && src.Indexes != nil && strings.Contains(src.Portable,
			"KERNEL void "+name+"(") {
			if in.Needs != "" {
				return nil, k.p.failure("launch", dev, hal.ErrUnsupported, "kernel %s needs %s, and the device does not have that", k.name,
					in.Needs)
			}
			return nil, k.p.failure("launch", dev, hal.ErrUnsupported, "kernel %s computes with float64, which the device does not have",
				k.name)
		}
		return nil, err
	}
	if written {
		names := slices.Clone(in.Params)
		if k.p.src.reports(dev) {
			names = append(names, "what the kernel reports")
		}
		most := uint64(0)
		if stack := dev.Info().Compute.BlockStack; in.Private > 0 && stack > 0 && !k.p.src.runsGo(dev) {
			if most = stack / uint64(in.Private); most == 0 {
				return nil, k.p.failure("launch", dev, hal.ErrUnsupported, "kernel %s has variables of %d bytes in each thread, and the device "+
					"takes %d in all threads of a block; keep them in a buffer", k.name, in.Private, stack)
			}
		}
		layer.Describe(found, k.name, append(names, "the part of the grid"), uint32(min(most, math.MaxUint32)))
	}
	calls := make([]string, len(in.Params))
	for i, param := range in.Params {
		calls[i] = k.call + "(" + param + ")"
	}
	d := &onDevice{in: in, calls: calls, dev: layer.Common(dev), kernel: found, info: found.Info(), round: round,
		passes: dev.Info().Compute.SharedByParam}
	if d.alone = m.each != nil; k.p.src.narrow(dev, d.alone) {
		d.most = in.Most
	}
	c := dev.Info().Compute
	switch {
	case k.p.src.runsGo(dev):
	case c.Nesting > 0 && in.Nests > c.Nesting:
		return nil, k.p.failure("launch", dev, hal.ErrUnsupported, "kernel %s nests %d conditions (%s), and the device's driver drops those beyond %d; "+
			"write some one after the other, as the cases of a switch, or use another driver", k.name, in.Nests, in.NestsAt, c.Nesting)
	case k.p.src.reports(dev):
		d.sites = k.p.src.Indexes
	case in.Rounds != nil && checkingRounds.Load():
		d.rounds = 1
	case in.Rounds != nil:
		d.rounds = c.LoopRounds
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

// scratch has the slices that a launch needs. They are used again for later launches.
type scratch struct {
	wants   []buffer.Want
	regions []hal.Region
	args    []hal.Arg
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) clear() {
	clear(s.wants)
	clear(s.regions)
	clear(s.args)
	s.wants, s.regions, s.args = s.wants[:0], s.regions[:0], s.args[:0]
}

func (s *scratch) give() {
	s.clear()
	scratches.Put(s)
}

// Launch runs the kernel on the stream, once for each thread of the grid, and does not wait for it. First it takes leases on all buffers
// among the arguments, and waits for them until ctx ends. Then it enqueues the copies that make them current on the stream's device. The
// program is compiled if this is its first launch there.
//
// Launch checks number, kinds and sizes of the arguments as [hal.Stream.Launch] does, and refuses InOut and Out for a parameter that is
// declared const. A launch that is refused, for whatever reason, changes no element. If the grid is empty nothing is launched.
//
// With a grid of [Split.Grid] the launch is divided among devices, and with one of [Step.Grid] it is recorded; stream is not used.
func (k *Kernel) Launch(ctx context.Context, stream *hal.Stream, grid hal.Grid, args ...Arg) error {
	const op = "launch"
	switch among := layer.Among(grid).(type) {
	case *Split:
		return among.launch(ctx, k, grid, args)
	case parts.Ranks:
		return k.launchAmong(ctx, stream, among, grid, args)
	case recorder:
		return among.launch(ctx, k, grid, args)
	}
	if stream == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil stream")
	}
	if err := layer.Err(stream); err != nil {
		return err
	}
	d, err := k.within(ctx, stream.Device(), grid, args)
	if err != nil {
		return err
	}
	if err := d.covers(grid); err != nil {
		return err
	}
	s := scratches.Get().(*scratch)
	defer s.give()
	if err := d.wants(k.call, s, args); err != nil {
		return err
	}
	var leases buffer.Leases
	if len(s.wants) > 0 {
		if leases, err = buffer.ReserveAll(ctx, stream, s.wants...); err != nil {
			return d.unleased(op, err, args, s.wants)
		}
		s.regions = leases.Regions(s.regions)
	}
	n := 0
	for i := range args {
		if !args[i].buffer {
			s.args = append(s.args, args[i].arg)
			continue
		}
		s.args = append(s.args, hal.At(s.regions[n]))
		n++
	}
	faults, err := d.faultsOn(stream)
	if err != nil {
		if len(s.wants) > 0 {
			err = errors.Join(err, leases.Release())
		}
		return err
	}
	defer faults.close()
	if faults != nil {
		s.args = append(s.args, hal.At(faults.mem.All()))
	}
	if checking.Load() && len(s.wants) > 0 && !layer.Empty(grid) {
		return d.launchChecked(ctx, stream, grid, args, s, leases, faults)
	}
	err = stream.Launch(d.kernel, layer.Keyed(grid, parts.Key(leases)), s.args...)
	enqueued := err == nil && !layer.Empty(grid)
	var bad error // why what the kernel wrote is lost, if it is known
	if enqueued && faults != nil {
		err, bad = faults.inspect(ctx, stream)
	}
	if len(s.wants) > 0 {
		if enqueued {
			err = cmp.Or(err, leases.Commit())
		}
		if e := release(leases, bad); !enqueued { // else it only says that the stream was closed since, but the launch counts
			err = cmp.Or(err, e)
		}
	}
	return err
}

// covers returns an error if the grid has fewer dimensions than the kernel uses.
func (d *onDevice) covers(grid hal.Grid) error {
	if has := layer.Dimensions(grid); has > 0 && has < d.in.Dims {
		return d.refuse("launch", "it uses dimension %d (%s), and the grid has %d; give Over or Blocks a number for each dimension",
			d.in.Dims-1, d.in.DimsAt, has)
	}
	return nil
}

// wants appends to s.wants one for each buffer among the arguments.
func (d *onDevice) wants(launch string, s *scratch, args []Arg) error {
	const op = "launch"
	n := 0
	for i := range args {
		a := &args[i]
		if a.buffer {
			if a.operand == nil {
				return d.refuse(op, "%s is a nil buffer", d.argument(i))
			}
			if a.mode != coherence.Read && n < len(d.info.Params) && d.info.Params[n].Const {
				return d.refuse(op, "%s is passed for writing, but parameter %s is const", d.argument(i), d.param(n))
			}
			call := launch
			if i < len(d.calls) {
				call = d.calls[i]
			}
			s.wants = append(s.wants, a.operand.Want(a.mode).For(call))
		}
		if d.passes || !layer.IsShared(a.arg) {
			n++
		}
	}
	return nil
}

// release ends the leases of a launch. If bad is not nil, what the kernel wrote is lost. The stream has told that error, so its events do
// not tell it again.
func release(leases buffer.Leases, bad error) error {
	if bad == nil {
		return leases.Release()
	}
	return leases.ReleaseChecked(func() error { return bad })
}

// refuse returns the error of a launch that is refused.
func (d *onDevice) refuse(op, format string, args ...any) error {
	info := d.dev.Info()
	return &hal.Error{Op: op, Backend: info.Backend, Device: info.Ordinal, Kind: hal.ErrInvalidArgument,
		Detail: fmt.Sprintf("kernel %s: ", d.info.Name) + fmt.Sprintf(format, args...)}
}

// buffersOf yields the index of each buffer among the arguments, after its number among the buffers.
func buffersOf(args []Arg) iter.Seq2[int, int] {
	return func(yield func(n, i int) bool) {
		n := 0
		for i := range args {
			if args[i].buffer {
				if !yield(n, i) {
					return
				}
				n++
			}
		}
	}
}

// unleased returns the error of a launch whose leases were refused. If that is due to an argument, the error names it.
func (d *onDevice) unleased(op string, err error, args []Arg, wants []buffer.Want) error {
	for n, i := range buffersOf(args) {
		if why := wants[n].Err(); why != nil {
			e := d.refuse(op, "%s", d.argument(i)).(*hal.Error)
			if inner, ok := why.(*hal.Error); ok {
				e.Kind, e.Detail, why = inner.Kind, e.Detail+": "+inner.Detail, inner.Err
			}
			e.Err = why
			return e
		}
	}
	return err
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
