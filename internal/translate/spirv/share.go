package spirv

import (
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// share returns a kernel that begins by setting its shared memory to zero, as Go does. The threads of the block do that together, and then wait for each other.
// If each thread writes its own element of an array before any thread reads one, only the elements without a thread are set to zero, and no wait is needed for
// that array.
func share(k *ir.Function) *ir.Function {
	var shared []*ir.Local
	for _, l := range k.Locals {
		if l.Space == ir.Shared && !l.Block {
			shared = append(shared, l)
		}
	}
	if len(shared) == 0 {
		return k
	}
	made := *k
	made.Locals, made.Body = k.Locals[:len(k.Locals):len(k.Locals)], &ir.Region{}
	c := &clearer{ir.NewBuilder(&made)}
	me := c.Let(c.sum(c.times(c.sum(c.times(c.place(ir.InBlock, 2), c.place(ir.Threads, 1)), c.place(ir.InBlock, 1)), c.place(ir.Threads, 0)), c.place(ir.InBlock, 0)))
	all := c.Let(c.times(c.times(c.place(ir.Threads, 0), c.place(ir.Threads, 1)), c.place(ir.Threads, 2)))
	wait := false
	for _, l := range shared {
		dims, filled := facts.Filled(k, l)
		wait = wait || !filled
		c.clear(l, me, all, dims)
	}
	if wait {
		c.Stmt(ir.Barrier)
	}
	c.Append(k.Body)
	return &made
}

// clearer adds statements that set arrays to zero. It computes with unsigned integers, because their divisions by constants are cheaper.
type clearer struct{ *ir.Builder }

var unsigned = ir.Basic(ir.U32)

func (c *clearer) sum(x, y *ir.Value) *ir.Value   { return c.Value(ir.Add, unsigned, x, y) }
func (c *clearer) times(x, y *ir.Value) *ir.Value { return c.Value(ir.Mul, unsigned, x, y) }

// place returns a number for the thread's place in the grid, or for the grid's size, as an unsigned integer.
func (c *clearer) place(op ir.Op, d int) *ir.Value {
	v := c.Value(op, ir.Basic(ir.Int))
	v.Which = []int{d}
	return c.Value(ir.Convert, unsigned, v)
}

// clear sets the elements of an array to zero. If dims is nil, it sets all elements. Otherwise a thread's own element is the one whose indexes are the thread's
// places along dims, and only the elements without a thread are set.
func (c *clearer) clear(l *ir.Local, me, all *ir.Value, dims []int) {
	var lens []int64
	total, elem := int64(1), l.Type
	for elem.Kind == ir.Array && (dims == nil || len(lens) < len(dims)) {
		lens, total, elem = append(lens, elem.Len), total*elem.Len, elem.Elem
	}
	end := c.Int(unsigned, total)
	if l.Sized != nil {
		lens, total, elem = []int64{1}, 1, l.Type.Elem
		end = c.Value(ir.Convert, unsigned, c.Argument(l.Sized))
	}
	i := c.Local("", unsigned, ir.Private)
	loop := func() {
		c.Store(i.At(), me)
		s := c.Stmt(ir.Loop)
		s.Value = c.Value(ir.Lt, ir.Basic(ir.Bool), c.Load(i.At()), end)
		s.Step = c.In(func() { c.Store(i.At(), c.sum(c.Load(i.At()), all)) })
		s.Then = c.In(func() {
			at, each := l.At(), total
			var without *ir.Value
			for n, length := range lens {
				each /= length
				index := c.Load(i.At())
				if each > 1 {
					index = c.Value(ir.Div, unsigned, index, c.Int(unsigned, each))
				}
				if n > 0 {
					index = c.Value(ir.Rem, unsigned, index, c.Int(unsigned, length))
				}
				index = c.Let(index)
				at = at.Part(0, index, nil)
				if dims != nil {
					without = c.or(without, c.Value(ir.Ge, ir.Basic(ir.Bool), index, c.place(ir.Threads, dims[n])))
				}
			}
			c.when(without, func() { c.Store(at, c.Zero(elem)) })
		})
	}
	var fewer *ir.Value
	for n, d := range dims {
		fewer = c.or(fewer, c.Value(ir.Lt, ir.Basic(ir.Bool), c.place(ir.Threads, d), c.Int(unsigned, lens[n])))
	}
	c.when(fewer, loop)
}

func (c *clearer) or(x, y *ir.Value) *ir.Value {
	if x == nil {
		return y
	}
	return c.Value(ir.Either, ir.Basic(ir.Bool), x, y)
}

// when adds statements that run if a condition is true. If the condition is nil, they always run.
func (c *clearer) when(cond *ir.Value, add func()) {
	if cond == nil {
		add()
		return
	}
	s := c.Stmt(ir.If)
	s.Value, s.Then = cond, c.In(add)
}
