package order

import "sync"

// chain is Works that were each made of earlier ones. A Work keeps those that it was made of until somebody asks it after its end, and
// nobody asks a Work whose bytes were written again. Therefore Works that join a chain ask others of it, the one that was asked longest ago
// first: however long a program goes on without waiting, little more is kept than what is under way. While all that are asked go on, fewer
// are asked: after each time, one join more lets it be, up to one for every chainPatience Works of the chain. A chain has no
// references to its Works: they go on to be forgotten while it may still look at them.
type chain struct {
	mu    sync.Mutex
	ring  []*Work // a power of two of places
	first int
	len   int

	pause, left int // joins that ask nothing: after the next time that all go on, and from now on
}

// chained is the depth above which a Work joins a chain.
const chained = 4

const chainPatience = 8

// push puts a Work at the end. c.mu is held.
func (c *chain) push(w *Work) {
	if c.len == len(c.ring) {
		ring := make([]*Work, max(2*c.len, 8))
		for i := range c.len {
			ring[i] = c.ring[(c.first+i)&(c.len-1)]
		}
		c.ring, c.first = ring, 0
	}
	c.ring[(c.first+c.len)&(len(c.ring)-1)] = w
	c.len++
}

// pop takes the first Work, nil if there is none. c.mu is held.
func (c *chain) pop() *Work {
	if c.len == 0 {
		return nil
	}
	w := c.ring[c.first]
	c.ring[c.first] = nil
	c.first = (c.first + 1) & (len(c.ring) - 1)
	c.len--
	return w
}

// next takes the Works that are to be asked now. c.mu is held.
func (c *chain) next() (list [asked]*Work) {
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
	w.keeps.Add(1)
	c.push(w)
	c.mu.Unlock()
	if asking[0] == nil {
		return
	}
	ended := false
	for i, o := range asking {
		if o != nil && !o.goesOn() {
			o.unkeep()
			asking[i], ended = nil, true
		}
	}
	c.mu.Lock()
	for _, o := range asking {
		if o != nil {
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

// goesOn reports whether there is a reference to the work and the work has not ended.
func (w *Work) goesOn() bool {
	for {
		n := w.refs.Load()
		if n == 0 {
			return false
		}
		if w.refs.CompareAndSwap(n, n+1) {
			done, _ := w.End()
			w.Release()
			return !done
		}
	}
}
