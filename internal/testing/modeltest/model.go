// Package modeltest performs random actions on a buffer, on the devices that it is given. It compares every element that is read with a
// plain slice, and the number of bytes that each action copies with a simple model of which elements are current where.
package modeltest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// T is what a run needs of a test: *testing.T and *rapid.T have it.
type T interface {
	require.TestingT
	Helper()
	Logf(format string, args ...any)
}

// Draw chooses a number from lo to hi, both included. If a property-testing library draws, it can shrink runs that fail.
type Draw func(label string, lo, hi int) int

// Fleet is a set of open devices with streams to use them by.
type Fleet struct {
	Devices []*hal.Device
	Streams [][]*hal.Stream // of each device
}

var ctx = context.Background()

// Run makes a buffer of at most the given number of elements, and performs at most the given number of random actions on it.
func Run(t T, draw Draw, f Fleet, elements, actions int) {
	t.Helper()
	n := draw("elements", 1, elements)
	b, err := buffer.New[uint16](n)
	require.NoError(t, err)
	m := &model{devs: f.Devices, streams: f.Streams, b: b, want: make([]uint16, n), place: map[*hal.Device]int{}, draw: draw}
	m.valid = append(m.valid, make([]bool, n))
	for _, d := range f.Devices {
		m.place[layer.Common(d)] = len(m.valid)
		m.valid = append(m.valid, make([]bool, n))
	}
	var done []string
	failed := true
	defer func() {
		if failed {
			t.Logf("actions: %s", strings.Join(done, ", "))
		}
		for i := range f.Streams {
			for _, s := range f.Streams[i] {
				require.NoError(t, s.Sync(ctx))
			}
		}
		require.NoError(t, b.Close())
	}()
	table := []struct {
		name string
		do   func(T)
	}{
		{"view", m.view}, {"update", m.update}, {"overwrite", m.overwrite}, {"deviceReads", m.deviceReads},
		{"deviceFills", m.deviceFills}, {"deviceWritesPart", m.deviceWritesPart}, {"prefetch", m.prefetch},
		{"syncTo", m.syncTo}, {"discard", m.discard}, {"evict", m.evict}, {"clone", m.clone},
	}
	for range draw("actions", 1, actions) {
		a := table[draw("action", 0, len(table)-1)]
		m.did = a.name
		a.do(t)
		done = append(done, m.did)
		m.check(t)
	}
	failed = false
}

// model is the expected contents of the buffer, and the places at which each element is expected to be current.
type model struct {
	devs    []*hal.Device
	streams [][]*hal.Stream // several per device
	b       *buffer.Buffer[uint16]
	want    []uint16
	valid   [][]bool // [place][element]: whether the element should be current there; place 0 is the host
	place   map[*hal.Device]int
	next    uint16
	draw    Draw
	did     string // the action, with what was drawn for it
}

// part picks a non-empty range.
func (m *model) part() (lo, hi int) {
	lo = m.draw("lo", 0, len(m.want)-1)
	hi = m.draw("hi", lo+1, len(m.want))
	m.did += fmt.Sprintf(" [%d, %d)", lo, hi)
	return lo, hi
}

func (m *model) slice(t T, lo, hi int) *buffer.Buffer[uint16] {
	s, err := m.b.Slice(lo, hi)
	require.NoError(t, err)
	return s
}

// row returns the index in valid of a device: one of its own, or the host's for a unified device that shares the host's replica. Which of the
// two is decided when the device first uses the buffer.
func (m *model) row(d *hal.Device) int {
	for _, p := range m.b.State().Places {
		if d != nil && d.Same(p.Device) {
			return m.place[layer.Common(d)]
		}
	}
	return 0
}

// moved checks that an access of a device, or of the host for nil, copied exactly the bytes that were not current there.
func (m *model) moved(t T, d *hal.Device, lo, hi int, overwrites bool, do func()) {
	before := m.b.Stats()
	do()
	after := m.b.Stats()
	place := m.row(d)
	var copied, filled uint64
	if !overwrites {
		for i := lo; i < hi; i++ {
			if !m.valid[place][i] {
				somewhere := slices.ContainsFunc(m.valid, func(v []bool) bool { return v[i] })
				if somewhere {
					copied += 2
				} else {
					filled += 2
				}
			}
		}
	}
	require.Equal(t, copied, after.BytesCopied-before.BytesCopied, "bytes copied")
	require.LessOrEqual(t, after.BytesFilled-before.BytesFilled, filled, "bytes filled")
	if !overwrites {
		for i := lo; i < hi; i++ {
			if !slices.ContainsFunc(m.valid, func(v []bool) bool { return v[i] }) {
				m.want[i] = 0
			}
			m.valid[place][i] = true
		}
	}
}

func (m *model) wrote(place, lo, hi int) {
	for p := range m.valid {
		for i := lo; i < hi; i++ {
			m.valid[p][i] = p == place
		}
	}
}

func (m *model) pick() (d *hal.Device, s *hal.Stream) {
	k := m.draw("device", 0, len(m.devs)-1)
	i := m.draw("stream", 0, len(m.streams[k])-1)
	m.did += fmt.Sprintf(" on %s stream %d", m.devs[k].Name(), i)
	return m.devs[k], m.streams[k][i]
}

func (m *model) view(t T) {
	lo, hi := m.part()
	s := m.slice(t, lo, hi)
	m.moved(t, nil, lo, hi, false, func() {
		require.NoError(t, s.View(ctx, func(got []uint16) error {
			require.Equal(t, m.want[lo:hi], got)
			return nil
		}))
	})
}

func (m *model) update(t T) {
	lo, hi := m.part()
	s := m.slice(t, lo, hi)
	m.moved(t, nil, lo, hi, false, func() {
		require.NoError(t, s.Update(ctx, func(got []uint16) error {
			require.Equal(t, m.want[lo:hi], got)
			for i := range got {
				got[i]++
			}
			return nil
		}))
	})
	for i := lo; i < hi; i++ {
		m.want[i]++
	}
	m.wrote(0, lo, hi)
}

func (m *model) overwrite(t T) {
	lo, hi := m.part()
	s := m.slice(t, lo, hi)
	m.moved(t, nil, lo, hi, true, func() {
		require.NoError(t, s.Overwrite(ctx, func(got []uint16) error {
			for i := range got {
				m.next++
				got[i], m.want[lo+i] = m.next, m.next
			}
			return nil
		}))
	})
	m.wrote(0, lo, hi)
}

func (m *model) deviceReads(t T) {
	lo, hi := m.part()
	s := m.slice(t, lo, hi)
	d, stream := m.pick()
	m.moved(t, d, lo, hi, false, func() {
		l, err := s.TryAcquire(stream, coherence.Read)
		require.NoError(t, err)
		got := make([]byte, 2*(hi-lo))
		require.NoError(t, stream.CopyOut(got, l.Region()))
		require.NoError(t, l.Release())
		require.NoError(t, stream.Sync(ctx))
		for i := range hi - lo {
			if slices.ContainsFunc(m.valid, func(v []bool) bool { return v[lo+i] }) {
				require.Equal(t, m.want[lo+i], uint16(got[2*i])|uint16(got[2*i+1])<<8, "element %d", lo+i)
			} else {
				require.Zero(t, uint16(got[2*i])|uint16(got[2*i+1])<<8, "element %d was never written", lo+i)
			}
		}
	})
}

func (m *model) deviceFills(t T) {
	lo, hi := m.part()
	s := m.slice(t, lo, hi)
	d, stream := m.pick()
	m.next++
	v := m.next
	m.moved(t, d, lo, hi, true, func() {
		l, err := s.TryAcquire(stream, coherence.Overwrite)
		require.NoError(t, err)
		require.NoError(t, stream.Fill(l.Region(), hal.Pattern16(v)))
		require.NoError(t, l.Release())
	})
	for i := lo; i < hi; i++ {
		m.want[i] = v
	}
	m.wrote(m.row(d), lo, hi)
}

// deviceWritesPart takes a lease to read and write, and writes half of its elements.
func (m *model) deviceWritesPart(t T) {
	lo, hi := m.part()
	s := m.slice(t, lo, hi)
	d, stream := m.pick()
	m.next++
	v := m.next
	half := uint64(hi-lo) / 2 * 2
	m.moved(t, d, lo, hi, false, func() {
		l, err := s.TryAcquire(stream, coherence.ReadWrite)
		require.NoError(t, err)
		r, err := l.Region().Sub(0, half)
		require.NoError(t, err)
		require.NoError(t, stream.Fill(r, hal.Pattern16(v)))
		require.NoError(t, l.Release())
	})
	for i := range int(half / 2) {
		m.want[lo+i] = v
	}
	m.wrote(m.row(d), lo, hi)
}

func (m *model) prefetch(t T) {
	lo, hi := m.part()
	s := m.slice(t, lo, hi)
	d, stream := m.pick()
	m.moved(t, d, lo, hi, false, func() { require.NoError(t, s.Prefetch(stream)) })
}

func (m *model) syncTo(t T) {
	lo, hi := m.part()
	s := m.slice(t, lo, hi)
	d, stream := m.pick()
	m.moved(t, d, lo, hi, false, func() { require.NoError(t, s.SyncTo(ctx, stream.Device())) })
}

func (m *model) discard(t T) {
	lo, hi := m.part()
	require.NoError(t, m.slice(t, lo, hi).Reset())
	for i := lo; i < hi; i++ {
		m.want[i] = 0
	}
	m.wrote(-1, lo, hi)
}

func (m *model) evict(t T) {
	d, stream := m.pick()
	place := m.row(d)
	if place == 0 {
		return // shared with the host
	}
	require.Same(t, d, stream.Device())
	require.NoError(t, m.b.Evict(ctx, d))
	m.awaitParting(t, d)
	for i := range m.want {
		if m.valid[place][i] {
			m.valid[place][i] = false
			if !slices.ContainsFunc(m.valid, func(v []bool) bool { return v[i] }) {
				m.valid[0][i] = true
			}
		}
	}
}

// awaitParting waits until the device's replica has gone. An access of the device before that would make the replica stay, and copy less than the
// model expects.
func (m *model) awaitParting(t T, d *hal.Device) {
	limit := time.Now().Add(time.Minute)
	for buffer.ResidencyOf(d).Used > 0 {
		require.True(t, time.Now().Before(limit), "the replica on %s has not gone", d.Name())
		runtime.Gosched()
	}
}

func (m *model) clone(t T) {
	lo, hi := m.part()
	c, err := m.slice(t, lo, hi).Clone(ctx)
	require.NoError(t, err)
	require.NoError(t, c.View(ctx, func(got []uint16) error {
		for i, v := range got {
			if slices.ContainsFunc(m.valid, func(v []bool) bool { return v[lo+i] }) {
				require.Equal(t, m.want[lo+i], v)
			} else {
				require.Zero(t, v)
			}
		}
		return nil
	}))
	require.NoError(t, c.Close())
}

// check compares, after every action, the places at which all elements are current.
func (m *model) check(t T) {
	for _, p := range m.b.State().Places {
		at := 0
		if p.Device != nil {
			at = m.place[layer.Common(p.Device)]
		}
		require.Equal(t, !slices.Contains(m.valid[at], false), p.Valid, "place %d", at)
	}
}
