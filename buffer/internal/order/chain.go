package order

import "sync"

// chain is a list of Works with long sequences of causes. A Work releases its causes only when its End is called after they have ended, and no
// access calls End of a Work whose bytes were written again. Therefore each Work that joins a chain calls End of two others in it, in turn.
// So the memory for ended Works stays proportional to the Works that have not ended, however long a program goes on without waiting. While
// none of those asked has ended, fewer joins ask: after each such time one join more asks nothing, up to chainPatience. A chain has no references
// to its Works, and may still have a Work in its list when that is used again.
type chain struct {
	mu    sync.Mutex
	ring  []member // a power of two of places
	first int
	len   int

	pause int // how many joins ask nothing after one for which no Work had ended
	left  int // how many of these are still to come
}

// member is a Work in a chain. The zero member stands for no Work.
type member struct {
	work *Work
	use  uint32 // how often the Work had been given back when it joined
}

// chained is the depth above which a Work joins a chain.
const chained = 4

// chainPatience is the most joins one after another that ask nothing. In short chains fewer do: one for every chainPatience Works in the chain.
const chainPatience = 4

// push puts a Work at the end. c.mu is held.
func (c *chain) push(m member) {
	if c.len == len(c.ring) {
		ring := make([]member, max(2*c.len, 8))
		for i := range c.len {
			ring[i] = c.ring[(c.first+i)&(c.len-1)]
		}
		c.ring, c.first = ring, 0
	}
	c.ring[(c.first+c.len)&(len(c.ring)-1)] = m
	c.len++
}

// pop takes the first Work, if there is one. c.mu is held.
func (c *chain) pop() (m member) {
	if c.len == 0 {
		return m
	}
	m = c.ring[c.first]
	c.ring[c.first] = member{}
	c.first = (c.first + 1) & (len(c.ring) - 1)
	c.len--
	return m
}

// next takes the Works whose End is to be called now, none if this join asks nothing. c.mu is held.
func (c *chain) next() (list [asked]member) {
	if c.left > 0 {
		c.left--
		return list
	}
	for i := range list {
		list[i] = c.pop()
	}
	return list
}

// join adds w to a chain if it is long enough: to the chain of a cause, or to a new one if no cause is in one. All causes of w are known, because others
// in the chain may call its End from now on.
func (w *Work) join() {
	if w.depth <= chained || w.chain != nil {
		return
	}
	c := (*chain)(nil)
	for _, a := range w.after {
		if a.depth+1 == w.depth {
			c = a.chain
		}
	}
	if c == nil {
		c = new(chain)
	}
	w.chain = c
	c.mu.Lock()
	asking := c.next()
	c.push(member{w, uint32(w.refs.Load() >> 32)})
	c.mu.Unlock()
	if asking[0].work == nil {
		return
	}
	ended := false
	for i, o := range asking {
		if o.work != nil && !o.goesOn() {
			asking[i], ended = member{}, true
		}
	}
	c.mu.Lock()
	for _, o := range asking {
		if o.work != nil {
			c.push(o)
		}
	}
	if c.pause++; ended {
		c.pause = 0
	}
	c.pause = min(c.pause, chainPatience, c.len/chainPatience)
	c.left = c.pause
	c.mu.Unlock()
}

// goesOn reports whether there is a reference to the work and the work has not ended.
func (m member) goesOn() bool {
	w := m.work
	for {
		n := w.refs.Load()
		if uint32(n) == 0 || uint32(n>>32) != m.use {
			return false
		}
		if w.refs.CompareAndSwap(n, n+1) {
			done, _ := w.End()
			w.Release()
			return !done
		}
	}
}
