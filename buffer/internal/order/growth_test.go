package order

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is kept of Works that have ended grows with those that have not ended, but not with their square.
func TestNoMoreIsKeptThanGoesOn(t *testing.T) {
	for _, stuck := range []int{100, 200, 400} {
		flow, slow := newStream(t), newStream(t)
		g, err := slow.Gate()
		require.NoError(t, err)
		w := NewWork(flow) // its work has always ended
		step := func() {
			next := NewWork(flow)
			next.AddSource(w)
			join(next)
			w = next
		}
		for range shallow + 2 {
			step()
		}
		var held []*Work
		for range stuck {
			x := NewWork(slow)
			x.AddSource(w.Retain())
			join(x)
			held = append(held, x)
		}
		most := 0
		for i := range 30 * stuck * stuck / 100 {
			if step(); i%100 != 0 {
				continue
			}
			alive := 0
			for a := w; len(a.sources) > 0; a = a.sources[0] {
				alive++
			}
			most = max(most, alive)
		}
		t.Logf("%d have not ended; up to %d that had ended were kept, with their events, each by the next; the list has %d places", stuck, most, cap(waiting.list))
		require.NoError(t, g.Signal())
		require.NoError(t, slow.Sync(context.Background()))
		w.Release()
		for _, x := range held {
			x.Release()
		}
		if most > 10*stuck {
			t.Errorf("that is %d for each", most/stuck)
		}
	}
}

// join is what Order.Add does with a Work that is in no Order.
func join(w *Work) {
	if w.depth > shallow {
		waiting.join(w)
	}
}
