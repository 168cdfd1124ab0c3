//go:build vulkan

package vulkan

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/kernelcache"
	"github.com/go-halyard/halyard/internal/siglib"
	ops "github.com/go-halyard/halyard/internal/spirv"
)

// kernel is an entry point, and the pipelines that were made of it: a pipeline has the size of a block built in.
type kernel struct {
	shaders
	entry  *entry
	info   driver.KernelInfo
	layout uintptr
	set    uintptr // the layout of the slots, or 0

	mu        sync.Mutex
	pipelines []*pipeline // the latest used last
}

// Info implements driver.Kernel.
func (k *kernel) Info() *driver.KernelInfo { return &k.info }

// pipeline is a kernel for one size of block and of shared memory.
type pipeline struct {
	block  [3]uint32
	shared uint32        // bytes
	slots  bool          // its parameters are in slots
	ready  chan struct{} // closed when the pipeline is compiled
	err    error         // why it could not be; set before ready is closed

	handle  uintptr                   // 0 while the pipeline is being compiled; guarded by the kernel's mu
	pending atomic.Int64              // launches that are not submitted; it grows with the kernel's mu held
	last    [mostQueues]atomic.Uint64 // the numbers of the last submissions to each queue
	brief   atomic.Uint64             // so many blocks are known to take little time (briefTime)
	timed   atomic.Bool               // a launch is being measured for that
}

// done reports whether the device has run all its launches; the kernel's mu is held.
func (p *pipeline) done(d *device) bool {
	if p.pending.Load() > 0 {
		return false
	}
	for i, q := range d.queues {
		if done, err := q.reached(p.last[i].Load()); !done || err != nil {
			return false
		}
	}
	return true
}

// Operating systems take a device for hung that works on one submission for seconds. So a launch gathers only if one of the same pipeline,
// with as many blocks or more, has ended within briefTime of its submission.
const briefTime = 10 * time.Millisecond

// measure finds out whether a launch of so many blocks, which was submitted now, is brief.
func (p *pipeline) measure(q *queue, number, blocks uint64) {
	if p.timed.Swap(true) {
		return
	}
	start := time.Now()
	measured := func() {
		if time.Since(start) <= briefTime {
			raise(&p.brief, blocks)
		}
		p.timed.Store(false)
	}
	if !q.after(number, measured) {
		measured()
	}
}

// mostPipelines is how many pipelines of a kernel are kept. If there are more, pipelines that are not in use are
// destroyed.
const mostPipelines = 64

// pipeline returns the pipeline for a size of block and of shared memory, and counts one more pending launch of it. A new
// pipeline is compiled by one call, without a lock; calls for the same one wait for it, and no others.
func (k *kernel) pipeline(op string, block [3]uint32, shared uint32, slots bool) (*pipeline, error) {
	k.mu.Lock()
	same := func(p *pipeline) bool { return p.block == block && p.shared == shared && p.slots == slots }
	if at := slices.IndexFunc(k.pipelines, same); at >= 0 {
		p := k.pipelines[at]
		if last := len(k.pipelines) - 1; at != last {
			copy(k.pipelines[at:], k.pipelines[at+1:])
			k.pipelines[last] = p
		}
		p.pending.Add(1)
		compiled := p.handle != 0
		k.mu.Unlock()
		if !compiled {
			<-p.ready
			return p, p.err
		}
		return p, nil
	}
	k.makeRoom()
	p := &pipeline{block: block, shared: shared, slots: slots, ready: make(chan struct{})}
	p.pending.Add(1)
	k.pipelines = append(k.pipelines, p)
	k.mu.Unlock()
	defer close(p.ready)
	handle, err := k.compile(op, p)
	k.mu.Lock()
	defer k.mu.Unlock()
	if p.handle, p.err = handle, err; err != nil {
		at := slices.Index(k.pipelines, p)
		k.pipelines = slices.Delete(k.pipelines, at, at+1)
	}
	return p, err
}

// makeRoom destroys the pipelines that were not used for longest and are not in use, if there are many; k.mu is held.
func (k *kernel) makeRoom() {
	d := k.dev
	for i := 0; i < len(k.pipelines) && len(k.pipelines) >= mostPipelines; {
		p := k.pipelines[i]
		if !p.done(d) {
			i++
			continue
		}
		d.t.destroyPipeline(d.handle, p.handle)
		k.pipelines = slices.Delete(k.pipelines, i, i+1)
	}
}

// close destroys what was made of the kernel.
func (k *kernel) close() {
	for _, p := range k.pipelines {
		k.dev.t.destroyPipeline(k.dev.handle, p.handle)
	}
	k.dev.t.destroyLayout(k.dev.handle, k.layout)
	k.destroySet()
}

// destroySet destroys the layout of the slots, which exists as long as slots are filled.
func (k *kernel) destroySet() {
	if k.set != 0 {
		k.dev.t.destroySetLayout(k.dev.handle, k.set)
	}
}

// compile compiles a pipeline. If an earlier process compiled it, the driver gets the data that was then stored in the
// cache of kernels.
func (k *kernel) compile(op string, p *pipeline) (handle uintptr, err error) {
	d := k.dev
	values := &[5]uint32{p.block[0], p.block[1], p.block[2], d.plan.features.rounded, p.shared}
	entries := &[5]specializationEntry{{0, 0, 4}, {1, 4, 4}, {2, 8, 4}, {ops.SpecRounded, 12, 4}, {specShared, 16, 4}}
	spec := &specialization{n: 5, entries: unsafe.Pointer(entries), size: unsafe.Sizeof(*values), data: unsafe.Pointer(values)}
	if p.shared == 0 {
		spec.n = 4 // the code's own value stands: an array must have elements
	}
	name := dl.CString(k.entry.name)
	info := &pipelineCreateInfo{head: head{typePipelineCreateInfo, nil}, layout: k.layout, baseIndex: -1, stage: stageCreateInfo{
		head: head{typeStageCreateInfo, nil}, stage: shaderStageCompute, shader: k.shader,
		name: unsafe.Pointer(&name[0]), specialization: unsafe.Pointer(spec)}}

	if p.slots {
		info.stage.shader = k.slotted.shader
	}
	key := kernelcache.NewKey("pipeline", d.plan.compiler, string(k.sum[:]), k.entry.name, fmt.Sprint(*values, p.slots))
	kept := d.kept(key)
	cache := d.newPipelineCache(kept)
	siglib.Enter() // the driver's compiler may replace signal handlers
	handle, st := d.t.createPipeline(d.handle, cache, unsafe.Pointer(info))
	siglib.Leave()
	runtime.KeepAlive(name)
	if cache != 0 {
		if kept == nil && st >= success {
			d.keep(key, cache)
		}
		d.t.destroyPipelineCache(d.handle, cache)
	}
	if st < success {
		return 0, d.fail(op, "vkCreateComputePipelines", st)
	}
	return handle, nil
}

// A VkPipelineCache is made for each pipeline, so that what is kept has one owner and never grows. The cache of kernels has a check sum
// for each entry: drivers trust what they are given.

// Data of a VkPipelineCache with fewer bytes than leastKept is only a header. A driver that reports more than mostKept bytes is not
// believed.
const (
	leastKept = 32 + 1
	mostKept  = 64 << 20
)

// kept returns what a driver has kept of a pipeline, or nil.
func (d *device) kept(key kernelcache.Key) []byte {
	image, ok := kernelcache.Default().Get(key)
	if !ok || image.Format != driver.FormatVulkan || len(image.Data) < leastKept {
		return nil
	}
	return image.Data
}

// newPipelineCache returns a VkPipelineCache with that data, or 0 if none can be made: pipelines are compiled without one, too.
func (d *device) newPipelineCache(data []byte) uintptr {
	info := &pipelineCacheInfo{head: head{typePipelineCacheCreateInfo, nil}, size: uintptr(len(data)),
		data: unsafe.Pointer(unsafe.SliceData(data))}
	cache, st := d.t.createPipelineCache(d.handle, unsafe.Pointer(info))
	if st < success {
		return 0
	}
	return cache
}

// keep stores the data of a VkPipelineCache. If it cannot, a later process compiles again.
func (d *device) keep(key kernelcache.Key, cache uintptr) {
	size := new(uintptr)
	if st := d.t.pipelineCacheData(d.handle, cache, unsafe.Pointer(size), nil); st != success || *size < leastKept || *size > mostKept {
		return
	}
	data := make([]byte, *size)
	if st := d.t.pipelineCacheData(d.handle, cache, unsafe.Pointer(size), unsafe.Pointer(&data[0])); st != success {
		return
	}
	_ = kernelcache.Default().Put(key, &driver.Image{Format: driver.FormatVulkan, Data: data[:min(*size, uintptr(len(data)))]})
}
