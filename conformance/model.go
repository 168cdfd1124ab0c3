package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// modelRun performs random actions on one buffer and the same writes on a plain slice.
type modelRun struct {
	t       *trial
	devs    []*hal.Device // the host first, as nil
	streams [][]*hal.Stream
	b       *bytesBuffer
	want    []byte
	actions []string
}

// shown is how many of the last actions a failure lists.
const shown = 25

func seededModel(t *trial) {
	devs := t.company()
	streams := make([][]*hal.Stream, len(devs))
	for i, d := range devs {
		if d != nil {
			streams[i] = []*hal.Stream{t.stream(d), t.stream(d)}
		}
	}
	for _, n := range []int{1, 257, 4096} {
		m := &modelRun{t: t, devs: devs, streams: streams, b: t.zeros(n), want: make([]byte, n)}
		for range t.Size(300, 80) {
			if !m.step() {
				m.fail()
				return
			}
		}
		for i := range devs {
			if !m.read(i, 0, 0, n) {
				m.fail()
				return
			}
		}
	}
}

// fail logs the actions that led to the failure that was just reported.
func (m *modelRun) fail() {
	first := max(0, len(m.actions)-shown)
	m.t.Logf("%d actions on %d bytes, the last ones:\n%s", len(m.actions), len(m.want), strings.Join(m.actions[first:], "\n"))
}

func (m *modelRun) note(format string, args ...any) {
	m.actions = append(m.actions, fmt.Sprintf("%4d ", len(m.actions))+fmt.Sprintf(format, args...))
}

func (m *modelRun) name(place int) string {
	if m.devs[place] == nil {
		return "host"
	}
	return m.devs[place].Name()
}

// ok reports whether an action succeeded. If not, the check has failed.
func (m *modelRun) ok(err error) bool {
	if err != nil {
		m.t.Errorf("action %d: %v", len(m.actions)-1, err)
	}
	return err == nil
}

// step performs one random action and reports whether its outcome was right.
func (m *modelRun) step() bool {
	t, n := m.t, len(m.want)
	lo := t.rng.IntN(n)
	hi := lo + 1 + t.rng.IntN(n-lo)
	place, line := t.rng.IntN(len(m.devs)), t.rng.IntN(2)
	switch t.rng.IntN(12) {
	case 0, 1:
		return m.read(place, line, lo, hi)
	case 2, 3:
		return m.overwrite(place, line, lo, hi)
	case 4, 5:
		return m.update(place, line, lo, hi)
	case 6:
		m.note("discard [%d, %d)", lo, hi)
		clear(m.want[lo:hi])
		return m.ok(t.part(m.b, lo, hi).Reset())
	case 7:
		return m.evict(place)
	case 8:
		m.note("sync [%d, %d) to %s", lo, hi, m.name(place))
		return m.ok(t.part(m.b, lo, hi).SyncTo(t.ctx, m.devs[place]))
	case 9:
		if m.devs[place] == nil {
			return m.read(place, line, lo, hi)
		}
		m.note("prefetch [%d, %d) to %s, stream %d", lo, hi, m.name(place), line)
		return m.ok(t.part(m.b, lo, hi).Prefetch(m.streams[place][line]))
	case 10:
		return m.mark(place, line, lo, hi)
	default:
		m.note("clone [%d, %d)", lo, hi)
		c, err := t.part(m.b, lo, hi).Clone(t.ctx)
		if !m.ok(err) {
			return false
		}
		var got []byte
		err = c.View(t.ctx, func(v []byte) error { got = bytes.Clone(v); return nil })
		return m.ok(err) && m.equal(got, lo, hi) && m.ok(c.Close())
	}
}

func (m *modelRun) equal(got []byte, lo, hi int) bool {
	diff := difference(got, m.want[lo:hi])
	if diff != "" {
		m.t.Errorf("action %d: [%d, %d): %s", len(m.actions)-1, lo, hi, diff)
	}
	return diff == ""
}

func (m *modelRun) read(place, line, lo, hi int) bool {
	m.note("%s reads [%d, %d), stream %d", m.name(place), lo, hi, line)
	t, part := m.t, m.t.part(m.b, lo, hi)
	var got []byte
	if m.devs[place] == nil {
		err := part.View(t.ctx, func(v []byte) error { got = bytes.Clone(v); return nil })
		return m.ok(err) && m.equal(got, lo, hi)
	}
	s := m.streams[place][line]
	l, err := part.TryAcquire(s, coherence.Read)
	if !m.ok(err) {
		return false
	}
	got = make([]byte, hi-lo)
	return m.ok(s.CopyOut(got, l.Region())) && m.ok(l.Release()) && m.ok(s.Sync(t.ctx)) && m.equal(got, lo, hi)
}

func (m *modelRun) overwrite(place, line, lo, hi int) bool {
	m.note("%s overwrites [%d, %d), stream %d", m.name(place), lo, hi, line)
	t, part, data := m.t, m.t.part(m.b, lo, hi), m.t.random(hi-lo)
	copy(m.want[lo:hi], data)
	if m.devs[place] == nil {
		return m.ok(part.Overwrite(t.ctx, func(v []byte) error { copy(v, data); return nil }))
	}
	s := m.streams[place][line]
	l, err := part.TryAcquire(s, coherence.Overwrite)
	return m.ok(err) && m.ok(s.CopyIn(l.Region(), data)) && m.ok(l.Release())
}

// update writes a part of the range and leaves the rest.
func (m *modelRun) update(place, line, lo, hi int) bool {
	t, part := m.t, m.t.part(m.b, lo, hi)
	from := t.rng.IntN(hi - lo)
	to := from + 1 + t.rng.IntN(hi-lo-from)
	m.note("%s updates [%d, %d) of [%d, %d), stream %d", m.name(place), lo+from, lo+to, lo, hi, line)
	before, data := bytes.Clone(m.want[lo:hi]), t.random(to-from)
	copy(m.want[lo+from:lo+to], data)
	if m.devs[place] == nil {
		var got []byte
		err := part.Update(t.ctx, func(v []byte) error {
			got = bytes.Clone(v)
			copy(v[from:to], data)
			return nil
		})
		if diff := difference(got, before); err == nil && diff != "" {
			t.Errorf("action %d: the update saw: %s", len(m.actions)-1, diff)
			return false
		}
		return m.ok(err)
	}
	s := m.streams[place][line]
	l, err := part.TryAcquire(s, coherence.ReadWrite)
	if !m.ok(err) {
		return false
	}
	r, err := l.Region().Sub(uint64(from), uint64(to-from))
	return m.ok(err) && m.ok(s.CopyIn(r, data)) && m.ok(l.Release())
}

// mark writes to a device's replica outside a lease, as programs do that manage replicas themselves.
func (m *modelRun) mark(place, line, lo, hi int) bool {
	if m.devs[place] == nil {
		return m.update(place, line, lo, hi)
	}
	m.note("%s writes [%d, %d) and marks it, stream %d", m.name(place), lo, hi, line)
	t, part, data, s := m.t, m.t.part(m.b, lo, hi), m.t.random(hi-lo), m.streams[place][line]
	// A program that writes outside leases has to wait for all other work itself.
	if !m.ok(part.SyncTo(t.ctx, m.devs[place])) {
		return false
	}
	for i, lines := range m.streams {
		for _, o := range lines {
			if !m.ok(o.Sync(t.ctx)) {
				return false
			}
		}
		if d := m.devs[i]; d != nil {
			out, err := d.CopyStream(true)
			if !m.ok(err) || !m.ok(out.Sync(t.ctx)) {
				return false
			}
		}
	}
	mem, err := part.Memory(m.devs[place])
	copy(m.want[lo:hi], data)
	return m.ok(err) && m.ok(s.CopyIn(mem, data)) && m.ok(part.MarkModified(s))
}

func (m *modelRun) evict(place int) bool {
	m.note("evict %s", m.name(place))
	err := m.b.Evict(m.t.ctx, m.devs[place])
	if errors.Is(err, coherence.ErrSoleCopy) {
		return true // there is no other place
	}
	return m.ok(err)
}
