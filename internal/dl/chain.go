package dl

// Chain collects calls of C and makes them in one crossing from Go to C. It is for calls that cost less than a crossing does, and whose
// results are not needed before the last is made, such as those that record commands for a device. The zero Chain is empty.
//
// C reads what the arguments point to when the calls are made: until then that has to be memory of the heap, which the caller keeps alive
// and leaves as it is.
type Chain struct {
	// The assembly relies on the order of these.
	n     uintptr // links to make
	made  uintptr // how many of them were made and did not fail
	links [chained]link

	names  [chained]string
	inGo   [chained]func() int32
	goes   bool // some are in Go
	failed string
	result int32
}

// chained is how many calls a crossing makes at most.
const chained = 16

// link is a call. The assembly relies on the order of the fields.
type link struct {
	proc   Proc
	Args   [MaxArgs]uintptr
	result uintptr
	status uintptr // the call has failed if the result, a C int, has one of these bits
	count  uintptr // arguments
}

const (
	negative = 1 << 31
	nonzero  = 1<<32 - 1
)

func (l *link) failed() bool { return uint32(l.result)&uint32(l.status) != 0 }

// Pair is two calls in one crossing from Go to C, on one thread: the second uses what the first makes current, such as a context. C reads
// the pair, so it is memory of the heap. Args are the arguments of the second call.
type Pair struct {
	// The fields with which a Chain begins.
	n, made uintptr
	first   link
	link
}

// Set chooses the calls. The first takes one argument and returns a C int, 0 for success. If first is the zero Proc, only
// the second call is made.
func (p *Pair) Set(first Proc, arg uintptr, second Proc) {
	p.first.proc, p.first.Args[0], p.first.status, p.first.count = first, arg, nonzero, 1
	p.proc, p.count = second, MaxArgs-1
}

// Do adds a call without a result. Pointers among the arguments are taken with [Address].
func (c *Chain) Do(name string, p Proc, args ...uintptr) { c.add(name, p, 0, args) }

// Status adds a call whose result is a C int. If it is negative, the call has failed, and those behind it are not made.
func (c *Chain) Status(name string, p Proc, args ...uintptr) { c.add(name, p, negative, args) }

// Go adds a Go function. Its result has the meaning that Status describes.
func (c *Chain) Go(name string, fn func() int32) {
	c.add(name, 0, negative, nil)
	c.inGo[c.n-1], c.goes = fn, true
}

func (c *Chain) add(name string, p Proc, status uintptr, args []uintptr) {
	if c.n == chained {
		c.Pass()
	}
	l := &c.links[c.n]
	l.proc, l.status, l.count = p, status, uintptr(len(args))
	copy(l.Args[:], args)
	c.names[c.n] = name
	c.n++
}

// Pass makes the calls so far, unless one has failed. After that the caller may change what their arguments point to.
func (c *Chain) Pass() {
	if c.failed == "" && c.n > 0 {
		c.made = 0
		if c.goes {
			c.oneByOne()
		} else {
			c.cross()
		}
		if c.made < c.n {
			c.failed, c.result = c.names[c.made], int32(c.links[c.made].result)
		}
	}
	if c.goes {
		clear(c.inGo[:])
	}
	c.n, c.goes = 0, false
}

// Run makes the calls, in order, and empties the chain. If a call fails, Run returns the name and the result of that
// call.
func (c *Chain) Run() (failed string, result int32) {
	c.Pass()
	failed, result = c.failed, c.result
	c.failed, c.result = "", 0
	return failed, result
}

// oneByOne makes the calls with a crossing for each.
func (c *Chain) oneByOne() {
	for ; c.made < c.n; c.made++ {
		l := &c.links[c.made]
		if fn := c.inGo[c.made]; fn != nil {
			l.result = uintptr(fn())
		} else {
			f := frames.Get().(*frame)
			f.args = l.Args
			l.result = f.call(l.proc, int(l.count))
		}
		if l.failed() {
			return
		}
	}
}
