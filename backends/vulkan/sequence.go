//go:build vulkan

package vulkan

import (
	"runtime"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// sequence is launches in one command buffer, which is submitted again and again. Until Close it counts as a launch of each of its
// pipelines that is pending, so that these are kept.
type sequence struct {
	s      *stream
	list   []*launch
	args   *memory // of the launches that have their arguments in memory; nil if there are none
	pool   uintptr // of the command buffer alone: what is done with a pool, one goroutine does at a time
	buffer uintptr
}

// Prepare implements driver.Repeater.
func (s *stream) Prepare(kernels []driver.Kernel, launches []driver.Launch) (driver.Sequence, error) {
	const op = "launch"
	p := &sequence{s: s}
	err := p.prepare(op, kernels, launches)
	if err == nil {
		err = p.record(op)
	}
	if err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// prepare compiles the pipelines, and writes the arguments.
func (p *sequence) prepare(op string, kernels []driver.Kernel, launches []driver.Launch) (err error) {
	size := uint64(0) // of the arguments in memory
	for i := range launches {
		x, err := kernels[i].(*kernel).launch(op, &launches[i])
		if err != nil {
			return err
		}
		p.list = append(p.list, x)
		size += x.room()
	}
	if size == 0 {
		return nil
	}
	if p.args, err = p.s.dev.alloc(op, driver.KindHost, size, alignment); err != nil {
		return err
	}
	off := p.args.off
	for _, x := range p.list {
		if n := x.room(); n > 0 {
			x.store(p.args.blk, off)
			off += n
		}
	}
	return nil
}

// room is how many bytes of memory the arguments take.
func (x *launch) room() uint64 { return (uint64(len(x.arguments)) + partAlign - 1) &^ (partAlign - 1) }

// record records the launches, with the barriers that they have between them when each is submitted by itself.
func (p *sequence) record(op string) error {
	d, q := p.s.dev, p.s.q
	info := &commandPoolInfo{head: head{typeCommandPoolCreateInfo, nil}, family: d.plan.family}
	pool, st := d.t.createCommandPool(d.handle, unsafe.Pointer(info))
	if st < success {
		return d.fail(op, "vkCreateCommandPool", st)
	}
	p.pool = pool
	one := &commandBufferInfo{head: head{typeCommandBufferInfo, nil}, pool: pool, n: 1}
	if p.buffer, st = d.t.allocateCommandBuffer(d.handle, unsafe.Pointer(one)); st < success {
		return d.fail(op, "vkAllocateCommandBuffers", st)
	}
	begin := &commandBufferBegin{head: head{typeCommandBufferBegin, nil}, flags: simultaneousUse} // an earlier run may be under way
	defer runtime.KeepAlive(begin)
	q.mu.Lock()
	defer q.mu.Unlock()
	d.t.beginCommandBuffer(q.calls, p.buffer, unsafe.Pointer(begin))
	for _, x := range p.list {
		x.record(q, p.buffer)
		q.order(p.buffer)
	}
	d.t.endCommandBuffer(q.calls, p.buffer)
	if api, st := q.calls.Run(); api != "" {
		return d.fail(op, api, status(st))
	}
	return nil
}

// Enqueue implements driver.Sequence. All launches are one submission.
func (p *sequence) Enqueue() (n int, err error) {
	if err := p.s.enqueue(operation{pass: (*stream).submitSequence, name: "launch", of: p}); err != nil {
		return 0, err
	}
	return len(p.list), nil
}

// submitSequence submits the launches of a sequence; s.mu is held.
func (s *stream) submitSequence(bool) (held bool, err error) {
	o, q := s.ops.first(), s.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.flush(o.name); err != nil {
		return false, err
	}
	q.args.buffer = o.of.(*sequence).buffer
	number, err := q.pass(o.name, &q.args.submit)
	if err == nil {
		s.tail = number
	}
	return false, err
}

// Close implements driver.Sequence.
func (p *sequence) Close() error {
	d := p.s.dev
	d.settle()
	if p.pool != 0 {
		d.t.destroyCommandPool(d.handle, p.pool) // and the command buffer
	}
	for _, x := range p.list {
		x.give()
	}
	if p.args != nil {
		return p.args.Free()
	}
	return nil
}
