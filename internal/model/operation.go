package model

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// operations are what the kinds of operations do.
func (m *state[T]) operations() map[string]func(o Operation) error {
	return map[string]func(o Operation) error{
		"view":      m.view,
		"update":    m.update,
		"overwrite": m.overwrite,
		"read":      m.read,
		"copy":      m.copy,
		"fill":      m.fill,
		"rewrite":   m.rewrite,
		"mark":      m.mark,
		"prefetch": func(o Operation) error {
			return m.moved(o, false, func(part *buffer.Buffer[T]) error {
				err := part.Prefetch(m.stream(o))
				if errors.Is(err, hal.ErrNotReady) {
					err = part.SyncTo(m.ctx, m.device(o))
				}
				return err
			})
		},
		"sync": func(o Operation) error {
			return m.moved(o, false, func(part *buffer.Buffer[T]) error { return part.SyncTo(m.ctx, m.device(o)) })
		},
		"reset": func(o Operation) error {
			clear(m.want[o.Lo:o.Hi])
			err := m.moved(o, true, func(part *buffer.Buffer[T]) error { return part.Reset() })
			m.wrote(-1, o.Lo, o.Hi)
			return err
		},
		"evict": m.evict,
		"clone": m.clone,
	}
}

func (m *state[T]) view(o Operation) error {
	return m.moved(o, false, func(part *buffer.Buffer[T]) error {
		return part.View(m.ctx, func(got []T) error { return m.same(got, o.Lo) })
	})
}

// update writes a part of what it reads.
func (m *state[T]) update(o Operation) error {
	err := m.moved(o, false, func(part *buffer.Buffer[T]) error {
		return part.Update(m.ctx, func(got []T) error {
			err := m.same(got, o.Lo)
			copy(got[o.From-o.Lo:], m.fresh(o.From, o.To))
			return err
		})
	})
	m.wrote(0, o.Lo, o.Hi)
	return err
}

func (m *state[T]) overwrite(o Operation) error {
	err := m.moved(o, true, func(part *buffer.Buffer[T]) error {
		return part.Overwrite(m.ctx, func(got []T) error { copy(got, m.fresh(o.Lo, o.Hi)); return nil })
	})
	m.wrote(0, o.Lo, o.Hi)
	return err
}

func (m *state[T]) read(o Operation) error {
	got := make([]T, o.Hi-o.Lo)
	err := m.leased(o, coherence.Read, func(s *hal.Stream, r hal.Region) error { return s.CopyOut(bytes(got), r) })
	if err == nil {
		err = m.stream(o).Sync(m.ctx)
	}
	if err != nil {
		return err
	}
	return m.same(got, o.Lo)
}

// copy copies new elements to the device.
func (m *state[T]) copy(o Operation) error {
	data := m.fresh(o.Lo, o.Hi)
	err := m.leased(o, coherence.Overwrite, func(s *hal.Stream, r hal.Region) error { return s.CopyIn(r, bytes(data)) })
	m.wrote(m.row(m.device(o)), o.Lo, o.Hi)
	return err
}

// pattern returns a new element as a pattern, and makes the model expect it in all of the range.
func (m *state[T]) pattern(lo, hi int) hal.Pattern {
	v := m.fresh(lo, lo+1)[0]
	for i := lo; i < hi; i++ {
		m.want[i] = v
	}
	return hal.Pattern{Bits: uint64(v), Width: uint8(unsafe.Sizeof(v))}
}

func (m *state[T]) fill(o Operation) error {
	p := m.pattern(o.Lo, o.Hi)
	err := m.leased(o, coherence.Overwrite, func(s *hal.Stream, r hal.Region) error { return s.Fill(r, p) })
	m.wrote(m.row(m.device(o)), o.Lo, o.Hi)
	return err
}

// rewrite takes a lease to read and write, and writes a part.
func (m *state[T]) rewrite(o Operation) error {
	p, size := m.pattern(o.From, o.To), uint64(unsafe.Sizeof(m.next))
	err := m.leased(o, coherence.ReadWrite, func(s *hal.Stream, r hal.Region) error {
		r, err := r.Sub(uint64(o.From-o.Lo)*size, uint64(o.To-o.From)*size)
		if err != nil {
			return err
		}
		return s.Fill(r, p)
	})
	m.wrote(m.row(m.device(o)), o.Lo, o.Hi)
	return err
}

// mark writes to a device's replica outside a lease, as programs do that manage replicas themselves. They have to wait for all other work.
func (m *state[T]) mark(o Operation) error {
	d := m.device(o)
	err := m.moved(o, false, func(part *buffer.Buffer[T]) error {
		if err := part.SyncTo(m.ctx, d); err != nil {
			return err
		}
		all := slices.Concat(m.fleet.Streams...)
		for _, d := range m.fleet.Devices {
			out, err := d.CopyStream(true)
			if err != nil {
				return err
			}
			all = append(all, out)
		}
		for _, s := range all {
			if err := s.Sync(m.ctx); err != nil {
				return err
			}
		}
		mem, err := part.Memory(d)
		if err != nil {
			return err
		}
		s, data := m.stream(o), m.fresh(o.Lo, o.Hi)
		return errors.Join(s.CopyIn(mem, bytes(data)), part.MarkModified(s))
	})
	m.wrote(m.row(d), o.Lo, o.Hi)
	return err
}

// evict frees a replica. Elements that are current nowhere else are copied first: to the host, or, from the host, to a device that the buffer chooses.
func (m *state[T]) evict(o Operation) error {
	d := m.device(o)
	place := m.row(d)
	err := m.b.Evict(m.ctx, d)
	if errors.Is(err, coherence.ErrSoleCopy) && place == 0 {
		return nil // there is no other place
	}
	if err != nil {
		return err
	}
	if place == 0 {
		return m.ask()
	}
	// If the device used the buffer before the replica is freed, the replica would stay, and fewer bytes than expected would be copied.
	for buffer.ResidencyOf(d).Used > 0 {
		if m.ctx.Err() != nil {
			return fmt.Errorf("the replica on %s has not gone: %w", d.Name(), m.ctx.Err())
		}
		runtime.Gosched()
	}
	for i, had := range m.valid[place] {
		m.valid[place][i] = false
		m.valid[0][i] = m.valid[0][i] || had && !m.somewhere(i)
	}
	return nil
}

// ask updates the model with what the buffer reports as current, and checks that no element was lost.
func (m *state[T]) ask() error {
	for i := range m.want {
		part, err := m.b.Slice(i, i+1)
		if err != nil {
			return err
		}
		was := m.somewhere(i)
		for p := range m.valid {
			m.valid[p][i] = false
		}
		for _, p := range part.State().Places {
			m.valid[m.row(p.Device)][i] = p.Valid
		}
		if was != m.somewhere(i) {
			return mismatch("element %d is current somewhere: %t", i, !was)
		}
	}
	return nil
}

func (m *state[T]) clone(o Operation) error {
	part, err := m.b.Slice(o.Lo, o.Hi)
	if err != nil {
		return err
	}
	c, err := part.Clone(m.ctx)
	if err != nil {
		return err
	}
	return errors.Join(c.View(m.ctx, func(got []T) error { return m.same(got, o.Lo) }), c.Close())
}
