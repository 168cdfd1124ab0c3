package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/crash"
	"github.com/go-halyard/halyard/internal/pages"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// With HALYARD_CHECK=kernels a launch that would be divided first runs its parts on the host, on copies of the arguments. There the system
// makes pages inaccessible that a part does not use according to its footprint, or does not write. Pages are larger than elements, so each part
// runs four times: in each run another end of the elements, the lower or upper one of those that it reads or writes, lies at the end of a page, and
// the first element beyond it is inaccessible. Arguments that the part should overwrite hold a pattern in two of the runs, and their contents from
// before the launch in the others: the results must be the same.

// rehearsal is what the parts of one launch run with.
type rehearsal struct {
	d     *launch
	args  []Arg
	data  [][]byte       // of the buffers among the arguments
	types []reflect.Type // of their elements
	run   func(*Block)

	copies []*replicated // for the run that is under way
	made   [4][][]byte   // of the runs of a part: what they have written, nil after a failure

	mu    sync.Mutex
	found string // what is wrong with the footprint, "" if nothing
}

// replicated is the copy of a buffer's elements for one run.
type replicated struct {
	name  string
	elem  int    // bytes of an element
	pages []byte // which the system protects
	from  int    // where the copy begins in the pages
	bytes []byte // the copy
	touch gridgen.Touch
}

// rehearse returns an error if a part uses an element outside of its footprint, or does not write one that it should write. If the kernel
// fails in another way, the launch will report it.
func (d *launch) rehearse(ctx context.Context, k *Kernel, args []Arg) (err error) {
	r := &rehearsal{d: d, args: slices.Clone(args)} // so that no launch allocates its arguments
	for _, i := range buffersOf(args) {
		r.types = append(r.types, elementOf(args[i].operand))
	}
	f, exists := k.p.src.Go[k.name]
	dev, err := hal.Open(ctx, "host")
	if err != nil || !exists || slices.Contains(r.types, nil) {
		return hal.CloseAll(dev) // there is nothing to run it on, or the type of elements is not known
	}
	stream, err := dev.NewStream()
	if err != nil {
		return errors.Join(err, dev.Close())
	}
	r.run = ofParts(f).Run
	p := New(Source{Name: k.p.src.Name, Go: Functions{k.name: Go(r.block)}})
	defer func() { err = errors.Join(err, p.Close(), hal.CloseAll(dev, stream)) }()
	if r.data, err = d.contents(ctx, args); err != nil {
		return err
	}
	kernel, err := p.Kernel(k.name).Of(ctx, dev)
	if err != nil {
		return err
	}
	for i := range d.parts {
		r.made = [4][][]byte{}
		pattern := newPattern()
		for end := range 4 {
			if err := r.part(ctx, stream, kernel, &d.parts[i], end, pattern[:]); errors.Is(err, errors.ErrUnsupported) {
				return nil // the system has no such pages
			} else if err != nil {
				return err
			}
			if end == 3 {
				r.compare()
			}
			if r.found != "" {
				return d.on[0].fail(hal.ErrOutOfRange, "launch", "%s; the footprint is wrong, so the launch cannot be divided", r.found)
			}
		}
	}
	return nil
}

// contents returns the elements of the buffers among the arguments, zeros for one that is passed with Out.
func (d *launch) contents(ctx context.Context, args []Arg) (data [][]byte, err error) {
	var wants []buffer.Want
	var read [][]byte
	for n, i := range buffersOf(args) {
		data = append(data, make([]byte, d.wants[n].Overlap(d.wants[n])))
		if args[i].mode != coherence.Overwrite {
			wants, read = append(wants, args[i].operand.Want(coherence.Read)), append(read, data[n])
		}
	}
	if len(wants) == 0 {
		return data, nil
	}
	stream := d.parts[0].stream
	leases, err := buffer.AcquireAll(ctx, stream, wants...)
	if err != nil {
		return nil, err
	}
	for i, region := range leases.Regions(nil) {
		if err == nil {
			err = stream.CopyOut(read[i], region)
		}
	}
	if e := leases.Release(); err == nil {
		err = e
	}
	if err == nil {
		err = stream.Sync(ctx)
	}
	return data, err
}

// part runs a part. end says which end of what it reads and of what it writes is the end of a page.
func (r *rehearsal) part(ctx context.Context, stream *hal.Stream, kernel *hal.Kernel, p *part, end int, pattern []byte) error {
	r.copies = r.copies[:0]
	var args []hal.Arg
	var memories []*hal.Memory
	defer func() {
		for _, m := range memories {
			_ = m.Close() // which unmaps the pages when nothing uses them
		}
	}()
	for i := range r.args {
		if !r.args[i].buffer {
			args = append(args, r.args[i].arg)
			continue
		}
		n := len(r.copies)
		c, err := replicate(r.data[n], p.touch[n], r.types[n], end, pattern)
		if err != nil {
			return err
		}
		c.name = r.d.on[0].in.Params[i]
		m, err := stream.Device().Import(hal.ExternalMemory{Kind: hal.KindHost, Handle: c.address(), Size: uint64(len(c.bytes)),
			Release: func() { _ = pages.Unmap(c.pages) }})
		if err != nil {
			_ = pages.Unmap(c.pages)
			return err
		}
		r.copies, memories, args = append(r.copies, c), append(memories, m), append(args, hal.At(m.All()))
	}
	for _, c := range r.copies { // not before, because Import looks at the memory
		if err := c.protect(); err != nil {
			return err
		}
	}
	if stream.Launch(kernel, p.grid, append(args, hal.Struct(&p.origin))...) != nil {
		return nil
	}
	if err := stream.Sync(ctx); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return nil
	}
	for n, c := range r.copies {
		w := c.touch.Write
		r.made[end] = append(r.made[end], bytes.Clone(c.of(w)))
		if left, first, _, _ := unwritten(c.of(w), pattern, fields(r.types[n])); c.patterned(end) && left > 0 {
			r.find("it leaves element %d of %s, and its footprint says that it writes all of %s", w.Lo+first/c.elem, c.name, said(w))
		}
	}
	return nil
}

// block runs a block, and finds out which element it was if the block has used one that it cannot.
func (r *rehearsal) block(b *Block) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			why := crash.Recovered(p)
			for _, c := range r.copies {
				if at := why.Addr - c.address(); why.Addr >= c.address() && at < uintptr(len(c.bytes)) {
					r.find("%s: it uses element %d of %s, and its footprint says that it reads %s and writes %s", why.Place, int(at)/c.elem,
						c.name,
						said(c.touch.Read), said(c.touch.Write))
				}
			}
			panic(why)
		}
	}()
	r.run(b)
}

func (r *rehearsal) find(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found == "" {
		r.found = fmt.Sprintf(format, args...)
	}
}

// replicate copies elements to pages. What the part only writes has a pattern instead.
func replicate(data []byte, touch gridgen.Touch, element reflect.Type, end int, pattern []byte) (*replicated, error) {
	c := &replicated{elem: int(element.Size()), touch: touch}
	for _, s := range []*buffer.Range{&c.touch.Read, &c.touch.Write} { // the lengths that it was made of may be wrong
		if s.Hi = min(s.Hi, len(data)/max(c.elem, 1)); s.Lo < 0 || s.Hi <= s.Lo {
			*s = buffer.Range{}
		}
	}
	at := [4]int{c.touch.Read.Lo, c.touch.Read.Hi, c.touch.Write.Lo, c.touch.Write.Hi}[end] * c.elem
	c.from = pages.Size - at%pages.Size
	var err error
	if c.pages, err = pages.Map(uint64(pages.Up(c.from + len(data)))); err != nil {
		return nil, &hal.Error{Op: "launch", Device: -1, Kind: hal.ErrOutOfMemory, Err: err, Detail: "memory to check a footprint in"}
	}
	c.bytes = c.pages[c.from:][:len(data)]
	copy(c.bytes, data)
	if w := c.of(c.touch.Write); c.patterned(end) {
		for i := range w {
			w[i] = pattern[i%len(pattern)]
		}
	}
	return c, nil
}

// patterned reports whether what is written whole holds the pattern in a run.
func (c *replicated) patterned(end int) bool { return c.touch.Whole && end%2 == 0 }

// compare finds a part whose results differ between runs with the pattern and runs without. If they differ between runs of one kind, too,
// they depend on the order of threads, and say nothing.
func (r *rehearsal) compare() {
	for n, c := range r.copies {
		var of [4][]byte
		for end := range of {
			if len(r.made[end]) != len(r.copies) {
				return // the kernel has failed
			}
			of[end] = r.made[end][n]
		}
		at := differing(of[0], of[1], fields(r.types[n]))
		if at >= 0 && differing(of[0], of[2], fields(r.types[n])) < 0 && differing(of[1], of[3], fields(r.types[n])) < 0 {
			r.find("element %d of %s depends on what elements held that its footprint says are written whole, and not read",
				c.touch.Write.Lo+at/c.elem, c.name)
		}
	}
}

func (c *replicated) address() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(c.bytes))) }

func (c *replicated) of(s buffer.Range) []byte { return c.bytes[s.Lo*c.elem : s.Hi*c.elem] }

// protect makes pages inaccessible that the part does not use, and those read-only that it does not write.
func (c *replicated) protect() error {
	err := pages.Protect(c.pages, pages.None)
	allow := func(s buffer.Range, a pages.Access) {
		lo, hi := (c.from+s.Lo*c.elem)/pages.Size*pages.Size, pages.Up(c.from+s.Hi*c.elem)
		if s.Lo < s.Hi && err == nil {
			err = pages.Protect(c.pages[lo:hi], a)
		}
	}
	allow(c.touch.Read, pages.Read)
	allow(c.touch.Write, pages.Write)
	return err
}

func said(s buffer.Range) string {
	if s.Hi <= s.Lo {
		return "no elements"
	}
	return fmt.Sprintf("elements %d to %d", s.Lo, s.Hi-1)
}
