package part_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/testing/around"
)

// After the first few, an exchange allocates only the list of ranges, if it accesses several ranges of a buffer.
func TestExchangeDoesNotAllocateInSteadyState(t *testing.T) {
	if raceEnabled {
		t.Skip("with the race detector everything allocates")
	}
	for _, row := range []struct {
		name    string
		written bool
		halo    part.Halo
		want    float64 // of both ranks
	}{
		{"ghosts that are current", false, part.Width(8), 0},
		{"owned elements that were written", true, part.Width(8), 0},
		{"both ends of the owned elements", true, part.Halo{Lo: []int{8}, Hi: []int{8}, Periodic: []bool{true}}, 4},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var lines [2]line
			begin, ended := make(chan struct{}), make(chan error)
			commtest.Run(t, 2, func(e driver.Engine) error {
				me := e.World().Rank()
				c := comm.New(&pair{Engine: e, out: &lines[me], in: &lines[1-me]})
				u, err := part.New[float64](ctx, c, part.Block(200), row.halo)
				if err != nil {
					return err
				}
				exchange := func() error {
					if row.written {
						if err := u.Owned().Fill(ctx, 1); err != nil {
							return err
						}
					}
					m, err := u.Exchange(ctx)
					if err == nil && m.Messages != 1 {
						err = fmt.Errorf("%+v was moved", m)
					}
					return err
				}
				if me == 1 {
					for range begin {
						ended <- exchange()
					}
					return errors.Join(u.Close(), c.Close())
				}
				n := testing.AllocsPerRun(100, func() {
					begin <- struct{}{}
					err = errors.Join(err, exchange(), <-ended)
				})
				close(begin)
				if n != row.want {
					t.Errorf("%v allocations for an exchange of two ranks, want %v", n, row.want)
				}
				return errors.Join(err, u.Close(), c.Close())
			})
		})
	}
}

// After the first few, a launch among ranks allocates nothing.
func TestLaunchAmongRanksDoesNotAllocateInSteadyState(t *testing.T) {
	if raceEnabled {
		t.Skip("with the race detector everything allocates")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var lines [2]line
	begin, ended := make(chan struct{}), make(chan struct{})
	commtest.Run(t, 2, func(e driver.Engine) error {
		me := e.World().Rank()
		c := comm.New(&pair{Engine: e, out: &lines[me], in: &lines[1-me]})
		q := part.Among(ctx, halyard.Open(ctx, "host:0"), c)
		x, y := halyard.New[float32](q.Queue, 300), halyard.New[float32](q.Queue, 300)
		step := func() {
			around.Around(q, 5, x, y)
			x, y = y, x
			for done := false; !done; done, _ = q.Stream().Done() { // to block would allocate
				runtime.Gosched()
			}
		}
		if me == 1 {
			for range begin {
				step()
				ended <- struct{}{}
			}
			return errors.Join(q.Close(), c.Close())
		}
		n := testing.AllocsPerRun(1000, func() {
			begin <- struct{}{}
			step()
			<-ended
		})
		close(begin)
		if n != 0 {
			t.Errorf("%v allocations for a launch of two ranks", n)
		}
		return errors.Join(q.Close(), c.Close())
	})
}

// pair is the engine of one of two ranks. Messages on the communicators that it makes allocate nothing.
type pair struct {
	driver.Engine
	out, in  *line
	receives [4]struct {
		p  unsafe.Pointer // nil if there is none
		n  uint64
		by int // the tag
	}
}

// line keeps the messages from one rank to the other that have not been received.
type line struct {
	mu       sync.Mutex
	n        int
	messages [4]struct {
		tag, n int
		data   [4096]byte
	}
}

type (
	pairWorld struct {
		driver.Comm
		e *pair
	}
	pairComm struct{ pairWorld }
)

func (e *pair) World() driver.Comm { return pairWorld{e.Engine.World(), e} }

func (c pairWorld) Dup() (driver.Comm, error) {
	d, err := c.Comm.Dup()
	return pairComm{pairWorld{d, c.e}}, err
}

// Requests from pairSent on are those of pair.
const (
	pairSent driver.Request = 1<<62 + iota
	pairReceive
)

func (c pairComm) Isend(p unsafe.Pointer, n uint64, dest, tag int) (driver.Request, error) {
	l := c.e.out
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &l.messages[l.n]
	m.tag, m.n = tag, copy(m.data[:], unsafe.Slice((*byte)(p), n))
	l.n++
	return pairSent, nil
}

func (c pairComm) Irecv(p unsafe.Pointer, n uint64, source, tag int) (driver.Request, error) {
	for i := range c.e.receives {
		if r := &c.e.receives[i]; r.p == nil {
			r.p, r.n, r.by = p, n, tag
			return pairReceive + driver.Request(i), nil
		}
	}
	return 0, errors.New("too many receives")
}

func (e *pair) Test(reqs []driver.Request, out []driver.Status) (done int, err error) {
	for i, q := range reqs {
		switch {
		case q == 0:
		case q < pairSent:
			n, err := e.Engine.Test(reqs[i:i+1], out[i:i+1])
			if err != nil {
				return done, err
			}
			done += n
		case q == pairSent || e.came(int(q-pairReceive), &out[i]):
			reqs[i] = 0
			done++
		}
	}
	return done, nil
}

// came copies the message of a receive into place, if it has come.
func (e *pair) came(i int, st *driver.Status) bool {
	r, l := &e.receives[i], e.in
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range l.n {
		if m := &l.messages[k]; m.tag == r.by {
			*st = driver.Status{Source: 1 - e.World().Rank(), Tag: m.tag, Bytes: uint64(copy(unsafe.Slice((*byte)(r.p), r.n), m.data[:m.n]))}
			copy(l.messages[k:l.n], l.messages[k+1:l.n])
			l.n--
			r.p = nil
			return true
		}
	}
	return false
}
