//go:build vulkan

package vulkan

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// mostPushed is the most bytes of push constants that a kernel may have here: what every device has. suggested is how many threads a
// block should have: several warps of a GPU, and on a processor a loop that is worth its start.
const (
	mostPushed = 128
	suggested  = 256
)

// module is a VkShaderModule.
type module struct {
	dev    *device
	code   *spirv
	sum    [sha256.Size]byte // of the code
	shader uintptr

	slots   uintptr // the shader with slots, or 0: see slots.go
	inSlots []int   // its parameters that are in slots

	mu      sync.Mutex
	kernels []*kernel
}

// kernel is an entry point, and the pipelines that were made of it: a pipeline has the size of a block built in.
type kernel struct {
	of     *module
	entry  *entry
	info   driver.KernelInfo
	layout uintptr

	mu        sync.Mutex
	pipelines []*pipeline // the latest used last
}

// Formats implements driver.Loader.
func (d *device) Formats() []driver.Format { return []driver.Format{driver.FormatVulkan} }

// Load makes a module of SPIR-V. What the device lacks, and bytes that are not SPIR-V, are found here: drivers crash on them.
func (d *device) Load(image *driver.Image) (driver.Module, error) {
	const op = "load"
	if image.Format != driver.FormatVulkan {
		return nil, d.refuse(op, driver.ErrUnsupported, "the device does not load %v", image.Format)
	}
	code, problem := readSPIRV(image.Data)
	if problem != "" {
		return nil, d.refuse(op, driver.ErrInvalidArgument, "%s", problem)
	}
	if lacking := code.lacking(&d.plan.features); lacking != "" {
		return nil, d.refuse(op, driver.ErrUnsupported, "%s", lacking)
	}
	m := &module{dev: d, code: code, sum: sha256.Sum256(image.Data)}
	var err error
	if m.shader, err = d.newShader(op, code); err != nil {
		return nil, err
	}
	if d.plan.slots.n > 0 {
		if err = m.addSlots(op, image.Data); err != nil {
			d.t.destroyShader(d.handle, m.shader)
			return nil, err
		}
	}
	code.words = nil
	return m, nil
}

// newShader makes a VkShaderModule.
func (d *device) newShader(op string, code *spirv) (uintptr, error) {
	words := code.given(d.plan.modes)
	info := &shaderCreateInfo{head: head{typeShaderCreateInfo, nil}, size: uintptr(4 * len(words)), code: unsafe.Pointer(&words[0])}
	shader, st := d.t.createShader(d.handle, unsafe.Pointer(info))
	return shader, d.check(op, "vkCreateShaderModule", st)
}

// Names implements driver.Module.
func (m *module) Names() []string {
	names := make([]string, len(m.code.entries))
	for i, e := range m.code.entries {
		names[i] = e.name
	}
	return names
}

// Kernel implements driver.Module. Blocks of the size that the kernel is launched with first are compiled by the launch.
func (m *module) Kernel(name string) (driver.Kernel, error) {
	const op = "kernel"
	d := m.dev
	at := slices.IndexFunc(m.code.entries, func(e *entry) bool { return e.name == name })
	if at < 0 {
		return nil, d.refuse(op, driver.ErrNotFound, "no kernel %q", name)
	}
	k := &kernel{of: m, entry: m.code.entries[at]}
	if n := k.entry.pushed; n > min(d.plan.pushed, mostPushed) {
		return nil, d.refuse(op, driver.ErrUnsupported,
			"the parameters of kernel %q take %d bytes; %d is the most for push constants, and "+
				"a structure named %s takes more", name, n, mostPushed, argumentsName)
	}
	limits := &d.info.Compute
	k.info = driver.KernelInfo{Name: name, Params: k.entry.params, Known: true, MaxThreads: limits.MaxThreads, MaxShared: limits.Shared,
		Suggested: min(suggested, limits.MaxThreads)}
	if !m.code.chosen(0) {
		k.info.RequiredBlock = k.entry.size
	}
	if !m.code.chosen(specShared) {
		k.info.MaxShared = 0
	}
	pushed := &pushRange{stages: shaderStageCompute, n: k.entry.pushed}
	info := &layoutCreateInfo{head: head{typeLayoutCreateInfo, nil}}
	if pushed.n > 0 {
		info.ranges, info.pushedRange = 1, unsafe.Pointer(pushed)
	}
	if m.slots != 0 {
		set, err := m.newSet(op)
		if err != nil {
			return nil, err
		}
		info.sets, info.setLayouts = 1, unsafe.Pointer(&set)
		defer d.t.destroySetLayout(d.handle, set)
	}
	var st status
	if k.layout, st = d.t.createLayout(d.handle, unsafe.Pointer(info)); st < success {
		return nil, d.fail(op, "vkCreatePipelineLayout", st)
	}
	m.mu.Lock()
	m.kernels = append(m.kernels, k)
	m.mu.Unlock()
	return k, nil
}

// Info implements driver.Kernel.
func (k *kernel) Info() *driver.KernelInfo { return &k.info }

// Close implements driver.Module.
func (m *module) Close() error {
	d := m.dev
	d.settle()
	for _, k := range m.kernels {
		for _, p := range k.pipelines {
			d.t.destroyPipeline(d.handle, p.handle)
		}
		d.t.destroyLayout(d.handle, k.layout)
	}
	d.t.destroyShader(d.handle, m.shader)
	if m.slots != 0 {
		d.t.destroyShader(d.handle, m.slots)
	}
	return nil
}

// launch is a launch that is enqueued. It comes from a pool.
type launch struct {
	k         *kernel
	p         *pipeline
	grid      [3]uint32
	constants [mostPushed]byte
	arguments []byte                     // of a kernel that has them in memory; the room is kept for later launches
	regions   []driver.Region            // the memory of parameters; the room is kept, too
	writes    [mostSlots]descriptorWrite // of a kernel with slots
	buffers   [mostSlots]descriptorBuffer
}

var launches = sync.Pool{New: func() any { return new(launch) }}

// Launch implements driver.Launcher.
func (s *stream) Launch(of driver.Kernel, l *driver.Launch) error {
	const name = "launch"
	x, err := of.(*kernel).launch(name, l)
	if err != nil {
		return err
	}
	if len(x.arguments) > 0 { // for which the stream may be held up
		return s.enqueue(op{kind: opLaunch, name: name, launch: x})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		s.ops.add(op{kind: opLaunch, name: name, launch: x})
		return nil
	}
	_, err = s.submitLaunch(name, x)
	return err
}

// launch returns a launch, with its pipeline and its arguments. Its give has to follow.
func (k *kernel) launch(op string, l *driver.Launch) (*launch, error) {
	x := launches.Get().(*launch)
	x.k, x.grid = k, l.Grid
	regions := x.regions[:0] // of all parameters
	params := x.constants[:]
	if n := int(k.entry.bytes); n > 0 {
		x.arguments = slices.Grow(x.arguments[:0], n)[:n]
		params = x.arguments
	}
	for i := range l.Args {
		a, to := &l.Args[i], params[k.entry.at[i]:]
		if a.Kind == driver.ParamPointer {
			r := a.Region
			if r.Mem == nil || r.Off >= r.Mem.Size() { // an empty region with no byte behind its address
				m, err := k.of.dev.readable()
				if err != nil {
					x.drop()
					return nil, err
				}
				r = driver.Region{Mem: m}
			}
			address := r.Mem.Handle() + uintptr(r.Off)
			*(*[8]byte)(to) = *(*[8]byte)(unsafe.Pointer(&address))
			regions = append(regions, r)
			continue
		}
		regions = append(regions, driver.Region{})
		copy(to[:a.Size], unsafe.Slice((*byte)(a.Value()), a.Size))
	}
	x.regions = regions
	var err error
	if x.p, err = k.pipeline(op, l.Block, uint32((l.Shared+7)&^7), k.of.slots != 0 && x.fill(regions)); err != nil {
		x.drop()
		return nil, err
	}
	return x, nil
}

// give ends the use of the pipeline, and gives the launch back to the pool.
func (x *launch) give() {
	x.p.pending.Add(-1)
	x.drop()
}

func (x *launch) drop() {
	clear(x.regions)
	x.k, x.p, x.arguments = nil, nil, x.arguments[:0]
	launches.Put(x)
}

// store writes the arguments to memory that the host sees, from off in its block.
func (x *launch) store(blk *block, off uint64) {
	copy(unsafe.Slice((*byte)(unsafe.Add(blk.host, off)), len(x.arguments)), x.arguments)
	binary.NativeEndian.PutUint64(x.constants[x.k.entry.pushed-8:], uint64(blk.addr)+off)
}

// dispatch records launches, of which each sees what those before it wrote; the queue is locked.
func (q *queue) dispatch(cb uintptr, list []*launch) {
	t := q.dev.t
	for i, x := range list {
		if i > 0 {
			q.order(cb)
		}
		t.cmdBindPipeline(q.calls, cb, x.p.handle)
		if n := x.k.entry.pushed; n > 0 {
			t.cmdPushConstants(q.calls, cb, x.k.layout, n, unsafe.Pointer(&x.constants))
		}
		if x.p.slots {
			t.cmdPushSet(q.calls, cb, x.k.layout, uint32(len(x.k.of.inSlots)), unsafe.Pointer(&x.writes))
		}
		t.cmdDispatch(q.calls, cb, x.grid[0], x.grid[1], x.grid[2])
	}
}

// submitLaunch passes a launch on to the queue, or gives it back to the pool. Arguments in memory are written to a part of a stage, for
// which the stream may be held up. s.mu is held.
func (s *stream) submitLaunch(name string, x *launch) (held bool, err error) {
	q := s.q
	var args *stage
	if n := uint64(len(x.arguments)); n > 0 {
		var off uint64
		if args, off, err = q.stages.take(name, q, n, s.work); args == nil && err == nil {
			return true, nil
		}
		if err == nil {
			x.store(args.blk, off)
		}
	}
	if err == nil {
		var number uint64
		if number, err = q.launch(name, x); err == nil {
			s.tail = number
		}
	}
	if args != nil {
		q.stages.put(q, args, s.tail)
	}
	if err != nil {
		x.give()
	}
	return false, err
}
