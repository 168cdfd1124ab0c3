package buffer_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// model drives a real buffer at random and holds it against a plain slice.
type model struct {
	devs    []*hal.Device
	streams [][]*hal.Stream // several per device
	b       *buffer.Buffer[uint16]
	want    []uint16
	valid   [][]bool // [place][element], place 0 is the host: what an oracle holds for current
	place   map[*hal.Device]int
	next    uint16
}

// part picks a non-empty range.
func (m *model) part(t *rapid.T) (lo, hi int) {
	lo = rapid.IntRange(0, len(m.want)-1).Draw(t, "lo")
	hi = rapid.IntRange(lo+1, len(m.want)).Draw(t, "hi")
	return lo, hi
}

func (m *model) slice(t *rapid.T, lo, hi int) *buffer.Buffer[uint16] {
	s, err := m.b.Slice(lo, hi)
	require.NoError(t, err)
	return s
}

// moved checks that an access at a place copied exactly the bytes that were not current there.
func (m *model) moved(t *rapid.T, place, lo, hi int, overwrites bool, do func()) {
	before := m.b.Stats()
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
	do()
	after := m.b.Stats()
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

func (m *model) pick(t *rapid.T) (place int, s *hal.Stream) {
	d := rapid.IntRange(0, len(m.devs)-1).Draw(t, "device")
	i := rapid.IntRange(0, len(m.streams[d])-1).Draw(t, "stream")
	return m.place[m.devs[d]], m.streams[d][i]
}

func (m *model) View(t *rapid.T) {
	lo, hi := m.part(t)
	s := m.slice(t, lo, hi)
	m.moved(t, 0, lo, hi, false, func() {
		require.NoError(t, s.View(ctx, func(got []uint16) error {
			require.Equal(t, m.want[lo:hi], got)
			return nil
		}))
	})
}

func (m *model) Update(t *rapid.T) {
	lo, hi := m.part(t)
	s := m.slice(t, lo, hi)
	m.moved(t, 0, lo, hi, false, func() {
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

func (m *model) Overwrite(t *rapid.T) {
	lo, hi := m.part(t)
	s := m.slice(t, lo, hi)
	m.moved(t, 0, lo, hi, true, func() {
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

func (m *model) DeviceReads(t *rapid.T) {
	lo, hi := m.part(t)
	s := m.slice(t, lo, hi)
	place, stream := m.pick(t)
	m.moved(t, place, lo, hi, false, func() {
		l, err := s.Acquire(stream, coherence.Read)
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

func (m *model) DeviceFills(t *rapid.T) {
	lo, hi := m.part(t)
	s := m.slice(t, lo, hi)
	place, stream := m.pick(t)
	m.next++
	v := m.next
	m.moved(t, place, lo, hi, true, func() {
		l, err := s.Acquire(stream, coherence.Overwrite)
		require.NoError(t, err)
		require.NoError(t, stream.Fill(l.Region(), hal.Pattern16(v)))
		require.NoError(t, l.Release())
	})
	for i := lo; i < hi; i++ {
		m.want[i] = v
	}
	m.wrote(place, lo, hi)
}

// DeviceWritesPart has a lease that reads and writes, and writes to half of it.
func (m *model) DeviceWritesPart(t *rapid.T) {
	lo, hi := m.part(t)
	s := m.slice(t, lo, hi)
	place, stream := m.pick(t)
	m.next++
	v := m.next
	half := uint64(hi-lo) / 2 * 2
	m.moved(t, place, lo, hi, false, func() {
		l, err := s.Acquire(stream, coherence.ReadWrite)
		require.NoError(t, err)
		r, err := l.Region().Sub(0, half)
		require.NoError(t, err)
		require.NoError(t, stream.Fill(r, hal.Pattern16(v)))
		require.NoError(t, l.Release())
	})
	for i := range int(half / 2) {
		m.want[lo+i] = v
	}
	m.wrote(place, lo, hi)
}

func (m *model) Prefetch(t *rapid.T) {
	lo, hi := m.part(t)
	s := m.slice(t, lo, hi)
	place, stream := m.pick(t)
	m.moved(t, place, lo, hi, false, func() { require.NoError(t, s.Prefetch(stream)) })
}

func (m *model) SyncTo(t *rapid.T) {
	lo, hi := m.part(t)
	s := m.slice(t, lo, hi)
	place, stream := m.pick(t)
	m.moved(t, place, lo, hi, false, func() { require.NoError(t, s.SyncTo(ctx, stream.Device())) })
}

func (m *model) Discard(t *rapid.T) {
	lo, hi := m.part(t)
	require.NoError(t, m.slice(t, lo, hi).Discard())
	for i := lo; i < hi; i++ {
		m.want[i] = 0
	}
	m.wrote(-1, lo, hi)
}

func (m *model) Evict(t *rapid.T) {
	place, stream := m.pick(t)
	if place == 0 {
		return // shared with the host
	}
	require.NoError(t, m.b.Evict(ctx, stream.Device()))
	for i := range m.want {
		if m.valid[place][i] {
			m.valid[place][i] = false
			if !slices.ContainsFunc(m.valid, func(v []bool) bool { return v[i] }) {
				m.valid[0][i] = true
			}
		}
	}
}

func (m *model) Clone(t *rapid.T) {
	lo, hi := m.part(t)
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

// Check is run after every action.
func (m *model) Check(t *rapid.T) {
	for _, p := range m.b.State().Places {
		at := 0
		if p.Device != nil {
			at = m.place[p.Device]
		}
		require.Equal(t, !slices.Contains(m.valid[at], false), p.Valid, "place %d", at)
	}
}

func TestModel(t *testing.T) {
	type setup struct {
		name string
		open func(t *testing.T) []*hal.Device
	}
	for _, c := range []setup{
		{"three discrete devices", func(t *testing.T) []*hal.Device { return openMany(t, "one", 3, 1, 2, 3) }},
		{"unified and discrete", func(t *testing.T) []*hal.Device { return openMany(t, "one", 1, 0, 1) }},
		{"two backends", func(t *testing.T) []*hal.Device {
			return append(openMany(t, "one", 2, 1, 2), openMany(t, "two", 1, 0, 1)...)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			devs := c.open(t)
			place := map[*hal.Device]int{}
			var streams [][]*hal.Stream
			for i, d := range devs {
				if !d.Unified() {
					place[d] = i + 1
				}
				streams = append(streams, []*hal.Stream{newStream(t, d), newStream(t, d)})
			}
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.IntRange(1, 40).Draw(t, "elements")
				b, err := buffer.New[uint16](n)
				require.NoError(t, err)
				defer func() { require.NoError(t, b.Close()) }()
				m := &model{devs: devs, streams: streams, b: b, want: make([]uint16, n), place: place}
				for range len(devs) + 1 {
					m.valid = append(m.valid, make([]bool, n))
				}
				t.Repeat(rapid.StateMachineActions(m))
			})
			for _, d := range devs {
				require.Eventually(t, func() bool { return d.Usage().Held == 0 }, patience, tick, "%s holds memory", fmt.Sprint(d.Name()))
			}
		})
	}
}
