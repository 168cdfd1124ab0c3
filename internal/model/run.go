package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Fleet is a set of open devices with streams to use them by.
type Fleet struct {
	Devices []*hal.Device
	Streams [][]*hal.Stream // of each device
}

// Mismatch is a difference between the buffer and the model. Errors of calls are returned as they are.
type Mismatch string

func (m Mismatch) Error() string { return string(m) }

func mismatch(format string, args ...any) error { return Mismatch(fmt.Sprintf(format, args...)) }

// state is a buffer, its expected contents, and the places at which each element is expected to be current.
type state[T uint8 | uint16] struct {
	ctx   context.Context
	fleet Fleet
	b     *buffer.Buffer[T]
	want  []T
	valid [][]bool // [place][element]: whether the element should be current there; place 0 is the host
	next  T
}

// Run runs a program on a new buffer, and returns the first thing that is not as it should be.
func Run[T uint8 | uint16](ctx context.Context, f Fleet, p Program) (err error) {
	b, err := buffer.New[T](p.Elements)
	if err != nil {
		return err
	}
	defer func() {
		for _, s := range slices.Concat(f.Streams...) {
			err = errors.Join(err, s.Sync(ctx))
		}
		err = errors.Join(err, b.Close())
	}()
	m := &state[T]{ctx: ctx, fleet: f, b: b, want: make([]T, p.Elements)}
	for range len(f.Devices) + 1 {
		m.valid = append(m.valid, make([]bool, p.Elements))
	}
	do := m.operations()
	for i, o := range p.Operations {
		if o.Place > len(f.Devices) || o.Place > 0 && o.Stream >= len(f.Streams[o.Place-1]) {
			return fmt.Errorf("operation %d, %s: there is no such place", i, o)
		}
		err := do[o.Kind](o)
		if err == nil {
			err = m.check()
		}
		if err != nil {
			return fmt.Errorf("operation %d, %s: %w", i, o, err)
		}
	}
	return nil
}

// bytes are the bytes of elements.
func bytes[T uint8 | uint16](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// device is that of an operation, nil for the host.
func (m *state[T]) device(o Operation) *hal.Device {
	if o.Place == 0 {
		return nil
	}
	return m.fleet.Devices[o.Place-1]
}

func (m *state[T]) stream(o Operation) *hal.Stream { return m.fleet.Streams[o.Place-1][o.Stream] }

// row returns the index in valid of a place: its own, or the host's for a unified device that shares the host's replica. Which of the two is decided when
// the device first uses the buffer.
func (m *state[T]) row(d *hal.Device) int {
	for i, other := range m.fleet.Devices {
		if d != nil && d.Same(other) && slices.ContainsFunc(m.b.State().Places, func(p buffer.PlaceState) bool { return d.Same(p.Device) }) {
			return i + 1
		}
	}
	return 0
}

// somewhere reports whether an element is current at any place.
func (m *state[T]) somewhere(i int) bool {
	return slices.ContainsFunc(m.valid, func(v []bool) bool { return v[i] })
}

// moved checks that an access copies exactly the bytes that are not current at its place, or none if it overwrites them, and marks them as current.
func (m *state[T]) moved(o Operation, overwrites bool, do func(part *buffer.Buffer[T]) error) error {
	part, err := m.b.Slice(o.Lo, o.Hi)
	if err != nil {
		return err
	}
	before := m.b.Stats()
	if err := do(part); err != nil {
		return err
	}
	after, place := m.b.Stats(), m.row(m.device(o))
	var copied, filled uint64
	for i := o.Lo; i < o.Hi && !overwrites; i++ {
		switch size := uint64(unsafe.Sizeof(m.next)); {
		case m.valid[place][i]:
		case m.somewhere(i):
			copied += size
		default:
			filled += size
		}
		m.valid[place][i] = true
	}
	if got := after.BytesCopied - before.BytesCopied; got != copied {
		return mismatch("%d bytes were copied, want %d", got, copied)
	}
	if got := after.BytesFilled - before.BytesFilled; got > filled {
		return mismatch("%d bytes were filled, want at most %d", got, filled)
	}
	return nil
}

// leased calls do with the region of a lease.
func (m *state[T]) leased(o Operation, mode coherence.Mode, do func(s *hal.Stream, r hal.Region) error) error {
	return m.moved(o, mode == coherence.Overwrite, func(part *buffer.Buffer[T]) error {
		s := m.stream(o)
		l, err := part.TryAcquire(s, mode)
		if errors.Is(err, hal.ErrNotReady) { // a device that shares the host's replica has to wait for work on it, once
			l, err = part.Acquire(m.ctx, s, mode)
		}
		if err != nil {
			return err
		}
		return errors.Join(do(s, l.Region()), l.Release())
	})
}

// wrote marks the elements of a range as current at one place alone; -1 is none.
func (m *state[T]) wrote(place, lo, hi int) {
	for p := range m.valid {
		for i := lo; i < hi; i++ {
			m.valid[p][i] = p == place
		}
	}
}

// same compares elements with the expected ones from lo on.
func (m *state[T]) same(got []T, lo int) error {
	for i, v := range got {
		if v != m.want[lo+i] {
			return mismatch("element %d is %#x, want %#x", lo+i, v, m.want[lo+i])
		}
	}
	return nil
}

// fresh sets the expected elements of a range to new values, and returns a copy.
func (m *state[T]) fresh(lo, hi int) []T {
	for i := lo; i < hi; i++ {
		m.next += 7
		m.want[i] = m.next
	}
	return slices.Clone(m.want[lo:hi])
}

// check looks at what the buffer says is current.
func (m *state[T]) check() error {
	for _, p := range m.b.State().Places {
		if at := m.row(p.Device); p.Valid == slices.Contains(m.valid[at], false) {
			return mismatch("place %d is current: %t", at, p.Valid)
		}
	}
	return nil
}
