package hostmem

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/resident"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// LastUse calls the release function of an adopted slice, or of guarded memory, when nothing uses the memory any more. A nil LastUse has
// none.
type LastUse struct {
	release func()
	streams []*hal.Stream
	left    atomic.Int32 // number of memories that are not freed yet, plus 1 until the streams have done their work
}

// Free frees the memory when the work that uses it has finished, clears work, and passes each error to keep. The caller calls Over of the
// result when it has unlocked what it had locked.
func (m *Memory) Free(work *order.Order, keep func(error)) (u *LastUse) {
	if m.release != nil {
		u = &LastUse{release: m.release}
		u.left.Store(1)
		work.Works(func(w *order.Work, _ bool) {
			if done, _ := w.Ended(); !done && !slices.Contains(u.streams, w.Stream) {
				u.streams = append(u.streams, w.Stream)
			}
		})
	}
	pooled := m.block.Valid()
	for _, s := range m.shares {
		if s != m.home || !pooled {
			keep(u.close(s))
		}
	}
	for _, l := range m.locks {
		keep(l.close(u.close))
	}
	if pooled {
		home := resident.Memory{Mem: m.home, Block: m.block}
		keep(home.Free(work))
	}
	work.Clear()
	*m = Memory{size: m.size}
	return u
}

// close closes a device's memory over the bytes.
func (u *LastUse) close(m *hal.Memory) error {
	if u == nil {
		return m.Close()
	}
	u.left.Add(1)
	return layer.CloseThen(m, func() {
		if u.left.Add(-1) == 0 {
			go u.release() // it may close the device, which waits for this function
		}
	})
}

// Over calls the release function when nothing uses the memory any more.
func (u *LastUse) Over() {
	if u == nil {
		return
	}
	for _, t := range u.streams {
		if idle, _ := layer.Idle(t); !idle {
			go func() {
				for _, t := range u.streams {
					_ = layer.Drain(t, context.Background())
				}
				u.done()
			}()
			return
		}
	}
	u.done()
}

// done counts down left, and calls the release function at the end.
func (u *LastUse) done() {
	if u.left.Add(-1) == 0 {
		u.release()
	}
}
