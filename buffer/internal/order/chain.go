package order

import "sync"

// chain is Works that were each made of earlier ones. A Work keeps those that it was made of until somebody asks it after its end, and
// nobody asks a Work whose bytes were written again. Therefore each Work that joins a chain asks two others of it: however long a
// program goes on without waiting, little more is kept than what is under way. A chain has no references to its Works.
type chain struct {
	mu   sync.Mutex
	list []*Work // the next that is asked first
}

// chained is the depth of a Work beyond which it joins a chain.
const chained = 4

// join adds w to the chain of a, which is made if there is none.
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

// goesOn reports whether somebody has a reference to the work, and it has not ended.
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
