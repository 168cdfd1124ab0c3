package order

import "sync"

// chain is Works that were each made of earlier ones. A Work keeps those that it was made of until somebody asks it after its end, and
// nobody asks a Work whose bytes were written again. Therefore Works that join a chain ask others of it, the one that was asked longest ago
// first: however long a program goes on without waiting, little more is kept than what is under way. While all that are asked go on, fewer
// are asked: after each time, one join more lets it be, up to one for every chainPatience Works of the chain. A chain has no
// references to its Works, and may still look at them when they are used again.
type chain struct {
	mu    sync.Mutex
	ring  []member // a power of two of places
	first int
	len   int

	pause, left int // joins that ask nothing: after the next time that all go on, and from now on
}

// member is a Work of a chain. The zero member is none.
type member struct {
	work *Work
	use  uint32 // how often it had been given back
}

// chained is the depth of a Work beyond which it joins a chain.
const chained = 4

const chainPatience = 8

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

// next takes the Works that are to be asked now. c.mu is held.
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

// join adds w to the chain of a, which is made if there is none.
func (w *Work) join(a *Work) {
	if w.chain = a.chain; w.chain == nil {
		w.chain = new(chain)
	}
	c := w.chain
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
	c.pause = min(c.pause, c.len/chainPatience)
	c.left = c.pause
	c.mu.Unlock()
}

// goesOn reports whether somebody has a reference to the work, and it has not ended.
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
