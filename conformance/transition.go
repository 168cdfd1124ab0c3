package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// actor is a user of a buffer: the host, or a device.
type actor struct {
	dev    *hal.Device // nil for the host
	stream *hal.Stream
	place  protocol.Place // the actor's place in the table; a buffer may give it another number
	name   string
}

// move is one action of one actor.
type move struct {
	action protocol.Action
	by     int // index of the actor
}

// table walks the states of a buffer.
type table struct {
	t      *trial
	actors []actor
}

const tableBytes = 64

// table returns a table of the host and up to two devices. Unified devices share the host's place.
func (t *trial) table() *table {
	x := &table{t: t, actors: []actor{{name: "host"}}}
	for _, d := range t.company()[1:] {
		a := actor{dev: d, stream: t.stream(d), name: d.Name()}
		if !d.Info().SharesHostMemory {
			a.place = protocol.Place(len(x.actors))
		}
		if x.actors = append(x.actors, a); len(x.actors) == 3 {
			break
		}
	}
	return x
}

// state is the buffer's state with places numbered as the actors are.
func (x *table) state(b *bytesBuffer) protocol.State {
	var s protocol.State
	for _, p := range b.State().Places {
		at := protocol.Host
		for _, a := range x.actors {
			if p.Device != nil && p.Device.Same(a.dev) {
				at = a.place
			}
		}
		if p.Allocated {
			s.Allocated = s.Allocated.With(at)
		}
		if p.Valid {
			s.Valid = s.Valid.With(at)
		}
	}
	return s
}

// do performs a move on the buffer and on model. If the move writes, it writes data.
func (x *table) do(b *bytesBuffer, model []byte, m move, data []byte) error {
	t, a := x.t, x.actors[m.by]
	half := tableBytes / 2
	switch m.action {
	case protocol.Read:
		var got []byte
		if a.dev == nil {
			got = t.hostReads(b)
		} else {
			got = t.deviceReads(b, a.stream)
		}
		t.same(got, model, "what %s reads", a.name)
	case protocol.ReadWrite:
		if a.dev == nil {
			t.hostUpdates(b, half/2, data[:half])
		} else {
			t.deviceUpdates(b, a.stream, half/2, data[:half])
		}
		copy(model[half/2:], data[:half])
	case protocol.Overwrite:
		if a.dev == nil {
			t.hostWrites(b, data)
		} else {
			t.deviceWrites(b, a.stream, data)
		}
		copy(model, data)
	case protocol.MarkModified:
		// The write comes before the mark, as in a program that tracks its own writes.
		mem, err := b.Memory(a.dev)
		valid := x.state(b).Valid.Has(a.place)
		if err == nil && valid {
			t.must(a.stream.CopyIn(mem, data), "copy in")
		}
		if err := b.MarkModified(a.stream); err != nil {
			return err
		}
		copy(model, data)
	case protocol.Evict:
		return b.Evict(t.ctx, a.dev)
	case protocol.Reset:
		if err := b.Reset(); err != nil {
			return err
		}
		clear(model)
	}
	return nil
}

// legalTransitions visits every state that can be reached, and tries every move in each of them.
func legalTransitions(t *trial) {
	x := t.table()
	var moves []move
	for i, a := range x.actors {
		for _, action := range protocol.Actions() {
			if action == protocol.MarkModified && a.dev == nil || action == protocol.Reset && i > 0 {
				continue
			}
			moves = append(moves, move{action, i})
		}
	}
	paths := map[protocol.State][]move{{}: nil}
	queue := []protocol.State{{}}
	steps := 0
	for len(queue) > 0 {
		from := queue[0]
		queue = queue[1:]
		for _, m := range moves {
			steps++
			path := append(slices.Clone(paths[from]), m)
			to := x.walk(path)
			if _, seen := paths[to]; !seen {
				paths[to] = path
				queue = append(queue, to)
			}
		}
	}
	t.Logf("%d actors, %d states, %d transitions", len(x.actors), len(paths), steps)
	t.want(len(paths) >= 3, "only %d states were reached", len(paths))
}

// walk takes the path on a new buffer and checks its last move against the protocol.
func (x *table) walk(path []move) protocol.State {
	t := x.t
	b, model := t.zeros(tableBytes), make([]byte, tableBytes)
	last := path[len(path)-1]
	for _, m := range path[:len(path)-1] {
		t.must(x.do(b, model, m, t.random(tableBytes)), "%s", x.show(path))
	}
	before, version := x.state(b), b.State().Version
	place := x.actors[last.by].place
	want, transfer, needed, refusal := before.Plan(last.action, place, nil)
	if dev := x.actors[last.by].dev; dev != nil {
		// A unified device that has not used the buffer yet has no memory of it: evicting does nothing, and marking is refused.
		if _, err := b.Memory(dev); err != nil {
			switch last.action {
			case protocol.Evict:
				want, needed, refusal = before, false, nil
			case protocol.MarkModified:
				want, needed, refusal = before, false, coherence.ErrConflict
			}
		}
	}
	var err error
	stats := moved(b, func() { err = x.do(b, model, last, t.random(tableBytes)) })
	after := x.state(b)
	switch {
	case refusal != nil:
		kind := coherence.ErrConflict
		if errors.Is(refusal, coherence.ErrSoleCopy) {
			kind = coherence.ErrSoleCopy
		}
		if !errors.Is(err, kind) {
			t.Errorf("%s: error %v, want kind %q", x.show(path), err, kind)
		}
		want = before
	case err != nil:
		t.Errorf("%s: %v", x.show(path), err)
	}
	if after.Valid != want.Valid {
		t.Errorf("%s: from %v to %v, want %v", x.show(path), before, after, want)
	}
	// An eviction may allocate the host's memory although the bytes are copied elsewhere, or nowhere.
	if after.Allocated != want.Allocated && after.Allocated != want.Allocated.With(protocol.Host) {
		t.Errorf("%s: allocated at %v, want %v", x.show(path), after.Allocated, want.Allocated)
	}
	var copied, filled uint64
	switch {
	case needed && transfer.From == protocol.NoPlace:
		filled = tableBytes
	case needed:
		copied = tableBytes
	}
	if stats.BytesCopied != copied || stats.BytesFilled != filled {
		t.Errorf("%s: %d bytes copied and %d cleared, want %d and %d", x.show(path), stats.BytesCopied, stats.BytesFilled, copied, filled)
	}
	writes := last.action.Writes() || last.action == protocol.Reset
	if bumped := b.State().Version > version; bumped != (writes && refusal == nil) {
		t.Errorf("%s: version %d, was %d", x.show(path), b.State().Version, version)
	}
	for i := range x.actors {
		_ = x.do(b, model, move{protocol.Read, i}, nil)
	}
	t.must(b.Close(), "close")
	return after
}

// show returns a path as text: "Read(host) Evict(cuda:0)".
func (x *table) show(path []move) string {
	var words []string
	for _, m := range path {
		if m.action == protocol.Reset {
			words = append(words, m.action.String())
		} else {
			words = append(words, fmt.Sprintf("%v(%s)", m.action, x.actors[m.by].name))
		}
	}
	return strings.Join(words, " ")
}
