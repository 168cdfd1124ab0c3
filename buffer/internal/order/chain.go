package order

import "sync"

// chain is a list of Works with long sequences of causes. A Work releases its causes only when its End is called after they have ended, and no
// access calls End of a Work whose bytes were written again. Therefore each Work that joins a chain calls End of
// two others in it. So the memory for ended Works stays bounded, however long a program goes on without waiting. A chain has no references
// to its Works.
type chain struct {
	mu   sync.Mutex
	list []*Work // the first is asked next
}

// chained is the depth above which a Work joins a chain.
const chained = 4

// join adds w to the chain of a, or to a new chain if a is in none.
func (w *Work) join(a *Work) {
	if w.chain = a.chain; w.chain == nil {
		w.chain = new(chain)
	}
	c := w.chain
	var asking [asked]*Work
	c.mu.Lock()
	n := copy(asking[:], c.list)
	clear(c.list[:n])
	c.list = c.list[n:]
	c.mu.Unlock()
	goOn := append(make([]*Work, 0, asked+1), w)
	for _, o := range asking[:n] {
		if o.goesOn() {
			goOn = append(goOn, o)
		}
	}
	c.mu.Lock()
	c.list = append(c.list, goOn...)
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
