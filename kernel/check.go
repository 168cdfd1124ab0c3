package kernel

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// newPattern returns what an Out is filled with before a checked launch. As float32 or float64 all of it is NaN. Any four bytes in a row
// have the highest byte of a float32, which no number below 1e38 has, so a kernel that writes such numbers never writes them by chance,
// however often it is launched.
func newPattern() (pattern [16]byte) {
	for i := range pattern {
		switch b := byte(rand.Uint32()); i % 4 {
		case 2:
			pattern[i] = b | 0xf0
		case 3:
			pattern[i] = 0x7f
		default:
			pattern[i] = b
		}
	}
	return pattern
}

// checked is a part whose kernel runs with checks before and after. The regions of the part are numbered as the buffers among its arguments.
type checked struct {
	*part
	ctx     context.Context
	how     layer.How
	args    []Arg // of the program
	which   []int // of each region: the index in args
	pattern [16]byte
	old     [][]byte // what the arguments held before; nil for each fresh one
}

// enqueueChecked launches the kernel of a part with checks. A launch that is refused must not change an Out, and the pattern does. So the
// arguments are checked first, by a launch that does nothing else. What is given up before the pattern is written has changed nothing.
func (p *part) enqueueChecked(ctx context.Context, how layer.How, args []Arg) (err error) {
	c := &checked{part: p, ctx: ctx, how: how, args: slices.Clone(args), pattern: newPattern()}
	for _, i := range buffersOf(args) {
		c.which = append(c.which, i)
	}
	patterned := false
	for r := range c.regions {
		patterned = patterned || c.fresh(r)
	}
	if err = layer.Launch(p.stream, p.on.kernel, p.grid, layer.How{Check: true}, p.args); err != nil {
		return err
	}
	if err = c.refuseShared(); err != nil {
		return err
	}
	if c.old, err = c.read(func(r int) bool { return !c.fresh(r) }); err != nil {
		return err
	}
	if patterned {
		p.enqueued = 1 // the elements of each Out may be the pattern
	}
	if err = c.fill(c.pattern, false); err == nil {
		err = c.launch()
	}
	if err != nil {
		p.err = err
		return err
	}
	p.enqueued = 1
	behind, err := layer.RecordShared(p.stream)
	if err == nil {
		err, p.err = p.on.await(ctx, p.stream, behind)
	}
	if err == nil {
		err, p.err = p.faults.inspect(ctx, p.stream)
	}
	var now [][]byte
	if err == nil {
		now, err = c.read(func(int) bool { return true })
	}
	if err == nil {
		err = c.inspect(now)
	}
	if err == nil && patterned {
		err = c.repeat(now)
	}
	return err
}

// refuseShared returns an error if two arguments share elements that a half of the grid writes and the other half uses, according to the
// kernel's footprint: the results depend on which is first. Blocks stay whole, unless their size was left to the device.
func (c *checked) refuseShared() error {
	in := &c.on.in
	if in.Footprint.Of == nil || len(c.args) != len(in.Params) {
		return nil
	}
	d := division{}
	var err error
	if d.blocks, d.block, err = layer.Resolve(c.on.kernel, c.grid); err != nil {
		return err
	}
	if _, over, shaped := layer.Shape(c.grid); over && !shaped {
		for dim, n := range d.block {
			if all := uint64(n) * uint64(d.blocks[dim]); all <= math.MaxUint32 {
				d.blocks[dim], d.block[dim] = uint32(all), 1
			}
		}
	}
	types := c.on.p.src.types(c.on.info.Name)
	for i := range c.args {
		d.values = append(d.values, c.args[i].integer(types[i]))
	}
	for dim, cut := range in.Footprint.Cut {
		if !cut || d.blocks[dim] < 2 {
			continue
		}
		var low, high part
		d.touches(&low, dim, 0, d.blocks[dim]/2, &in.Footprint, len(c.args))
		d.touches(&high, dim, d.blocks[dim]/2, d.blocks[dim], &in.Footprint, len(c.args))
		for r := range c.regions {
			a, b := c.bytes(r, low.touch[r]), c.bytes(r, high.touch[r])
			if conflict(&a, &b) {
				break // the spans say nothing in this dimension
			}
			for o, other := range c.regions[:r] {
				x, y := c.bytes(o, low.touch[o]), c.bytes(o, high.touch[o])
				if other.Mem == c.regions[r].Mem && (conflict(&a, &y) || conflict(&x, &b)) {
					return c.on.refuse("launch", "%s and %s share elements, and threads use some that other threads write, so the results "+
						"differ by device; pass a second buffer", c.on.argument(c.which[o]), c.on.argument(c.which[r]))
				}
			}
		}
	}
	return nil
}

// bytes returns which bytes of its memory a part uses of a region.
func (c *checked) bytes(r int, t gridgen.Touch) gridgen.Touch {
	off, size := int(c.regions[r].Off), 0
	if e := elementOf(c.args[c.which[r]].operand); e != nil {
		size = int(e.Size())
	}
	in := func(e buffer.Range) buffer.Range { return buffer.Range{Lo: off + e.Lo*size, Hi: off + e.Hi*size} }
	return gridgen.Touch{Read: in(t.Read), Write: in(t.Write)}
}

func (c *checked) launch() error {
	return layer.Launch(c.stream, c.on.kernel, c.grid, c.how, c.part.args)
}

func (c *checked) mode(r int) coherence.Mode { return c.args[c.which[r]].mode }

func (c *checked) element(r int) []bool { return fields(elementOf(c.args[c.which[r]].operand)) }

// overlaps reports whether a region shares bytes with one of a mode that other accepts.
func (c *checked) overlaps(r int, other func(m coherence.Mode) bool) bool {
	of := c.regions[r]
	for o, region := range c.regions {
		if o != r && other(c.mode(o)) && region.Mem == of.Mem && region.Off < of.Off+of.Len && of.Off < region.Off+region.Len {
			return true
		}
	}
	return false
}

// fresh reports whether a region is an Out that the kernel cannot read as another argument.
func (c *checked) fresh(r int) bool {
	return c.mode(r) == coherence.Overwrite && !c.overlaps(r, func(m coherence.Mode) bool { return m != coherence.Overwrite })
}

// read copies regions to the host.
func (c *checked) read(which func(r int) bool) (all [][]byte, err error) {
	all = make([][]byte, len(c.regions))
	for r := range all {
		if err == nil && which(r) {
			all[r] = make([]byte, c.regions[r].Len)
			err = c.stream.CopyOut(all[r], c.regions[r])
		}
	}
	if err == nil {
		err = c.stream.Sync(c.ctx)
	}
	return all, err
}

// fill writes the pattern to each fresh region, and, for a launch that is not the first, what it held before to each other that the kernel
// writes to.
func (c *checked) fill(pattern [16]byte, again bool) (err error) {
	for r, region := range c.regions {
		b := c.old[r]
		if c.fresh(r) {
			n := int(region.Len)
			b = bytes.Repeat(pattern[:], n/len(pattern)+1)[:n]
		} else if !again || c.mode(r) == coherence.Read {
			continue
		}
		if err == nil {
			err = c.stream.CopyIn(region, b)
		}
	}
	return err
}

// inspect compares what the regions hold after the kernel with what an argument may do.
func (c *checked) inspect(now [][]byte) error {
	for r, b := range now {
		switch {
		case c.mode(r) == coherence.Read && !bytes.Equal(b, c.old[r]) &&
			!c.overlaps(r, func(m coherence.Mode) bool { return m != coherence.Read }):
			return c.on.refuse("launch", "it wrote to %s, which is passed with In", c.on.argument(c.which[r]))
		case c.fresh(r):
			left, first, elements, element := unwritten(b, c.pattern[:], c.element(r))
			if i := c.which[r]; elements > 0 && i < len(c.on.in.Params) {
				name := c.on.in.Params[i]
				return c.on.refuse("launch", "it left %d of %d elements of %s unwritten, the first is %d; %s is a grid.Out", elements,
					len(b)/len(c.element(r)), name, element, name)
			} else if left > 0 {
				return c.on.refuse("launch", "it left %d bytes unwritten of %s, which is passed with Out; the first at byte %d", left,
					c.on.argument(i), first)
			}
		}
	}
	return nil
}

// repeat compares the results with those for other bytes in each fresh region. Results that differ for the same bytes, too, say nothing.
func (c *checked) repeat(now [][]byte) error {
	arg, at, err := c.again(now, [16]byte{})
	if arg < 0 || err != nil {
		return err
	}
	if same, _, err := c.again(now, c.pattern); same >= 0 || err != nil {
		return err
	}
	return c.on.refuse("launch", "byte %d that it writes to %s depends on what an argument passed with Out held before", at,
		c.on.argument(arg))
}

// again launches the kernel again, and returns the first argument that then differs from now, -1 if there is none.
func (c *checked) again(now [][]byte, pattern [16]byte) (arg, at int, err error) {
	if err = c.fill(pattern, true); err == nil {
		err = c.launch()
	}
	if err != nil {
		return -1, 0, err
	}
	other, err := c.read(func(int) bool { return true })
	for r := range other {
		if at := differing(now[r], other[r], c.element(r)); at >= 0 && err == nil {
			return c.which[r], at, nil
		}
	}
	return -1, 0, err
}

// unwritten counts the bytes in b that still hold the pattern, in runs of at least four, and returns where the first run begins. A shorter run
// may be what the kernel wrote, by chance; so may a run that consists of parts of two numbers of four bytes. fields says which bytes of an
// element a kernel can write; the other bytes are left out of the runs. If fields is set, elements is the number of elements that lie in the
// runs as a whole, and element the first of them.
func unwritten(b, pattern []byte, fields []bool) (left, first, elements, element int) {
	run, from := 0, 0
	end := func(to int) {
		size, whole, begin := len(fields), 0, 0
		if size > 0 {
			begin = (from + size - 1) / size
			whole = max(0, to/size-begin)
		}
		if run >= 4 && (whole > 0 || size != 4) {
			if left == 0 {
				first = from
			}
			left += run
			if elements == 0 {
				element = begin
			}
			elements += whole
		}
		run = 0
	}
	for i := range b {
		switch {
		case len(fields) > 0 && !fields[i%len(fields)]:
		case b[i] != pattern[i%len(pattern)]:
			end(i)
		default:
			if run == 0 {
				from = i
			}
			run++
		}
	}
	end(len(b))
	return left, first, elements, element
}

// differing returns the first byte of fields in which a and b differ, -1 if there is none.
func differing(a, b []byte, fields []bool) int {
	for i := range a {
		if a[i] != b[i] && (len(fields) == 0 || fields[i%len(fields)]) {
			return i
		}
	}
	return -1
}

// elementOf returns the type of the elements of x, nil if x does not say it.
func elementOf(x Operand) reflect.Type {
	m, ok := reflect.TypeOf(x).MethodByName("Element")
	if !ok || m.Type.NumOut() != 1 {
		return nil
	}
	return m.Type.Out(0)
}

// fields returns which bytes of an element of type t, unless that is nil, belong to fields that have a name: a kernel that writes each of
// them leaves the padding.
func fields(t reflect.Type) []bool {
	if t == nil {
		return nil
	}
	all := make([]bool, t.Size())
	markFields(t, all)
	return all
}

func markFields(t reflect.Type, all []bool) {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" {
				markFields(f.Type, all[f.Offset:])
			}
		}
	case reflect.Array:
		for i := range t.Len() {
			markFields(t.Elem(), all[uintptr(i)*t.Elem().Size():])
		}
	default:
		for i := range t.Size() {
			all[i] = true
		}
	}
}
