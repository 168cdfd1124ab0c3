package part_test

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// spy notes which memory the messages of a rank are in.
type spy struct {
	driver.Engine
	mu     sync.Mutex
	blocks map[unsafe.Pointer]uint64
	sent   []uint64 // the sizes of the blocks that have the messages, 0 for other memory
}

type spyComm struct {
	driver.Comm
	s *spy
}

func (s *spy) World() driver.Comm { return spyComm{s.Engine.World(), s} }

func (s *spy) Alloc(n uint64) (unsafe.Pointer, error) {
	p, err := s.Engine.Alloc(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks[p] = n
	return p, err
}

func (s *spy) see(p unsafe.Pointer, n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, 0)
	for block, size := range s.blocks {
		if at := uintptr(p) - uintptr(block); uint64(at)+n <= size {
			s.sent[len(s.sent)-1] = size
		}
	}
}

func (c spyComm) Dup() (driver.Comm, error) {
	d, err := c.Comm.Dup()
	return spyComm{d, c.s}, err
}

func (c spyComm) Isend(p unsafe.Pointer, n uint64, dest, tag int) (driver.Request, error) {
	c.s.see(p, n)
	return c.Comm.Isend(p, n, dest, tag)
}

func (c spyComm) Irecv(p unsafe.Pointer, n uint64, source, tag int) (driver.Request, error) {
	c.s.see(p, n)
	return c.Comm.Irecv(p, n, source, tag)
}

// Exchange makes its messages in memory of the engine, which are not copied again. Memory for copies has a power of two as its size.
func TestMessagesAreNotCopied(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	commtest.Run(t, 4, func(e driver.Engine) error {
		s := &spy{Engine: e, blocks: map[unsafe.Pointer]uint64{}}
		c := comm.New(s)
		a, err := part.New[float64](ctx, c, part.Grid([]int{80, 100}, []int{4, 1}), part.Width(1, 0))
		if err != nil {
			return err
		}
		moved, err := a.Exchange(ctx)
		if err != nil {
			return err
		}
		if len(s.sent) != 2*moved.Messages {
			return fmt.Errorf("%d addresses for %d messages", len(s.sent), moved.Messages)
		}
		for _, size := range s.sent {
			if bits.OnesCount64(size) < 2 {
				return fmt.Errorf("a message is in a block of %d bytes", size)
			}
		}
		return errors.Join(a.Close(), c.Close())
	})
}
