package order

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/span"
)

// deep returns a Work, with one reference, whose sources have sources, and so on, so that it has joined the list.
func deep(t *testing.T, s *hal.Stream) *Work {
	w := NewWork(s)
	for range shallow + 1 {
		next := NewWork(s)
		next.AddSource(w)
		join(next)
		w = next
	}
	require.True(t, w.joined)
	return w
}

// A Work with several sources fails with any of them, whatever other Works join the list meanwhile.
func TestEverySourceCounts(t *testing.T) {
	s := newStream(t)
	a := deep(t, newStream(t))
	defer a.Release()
	wrong := errors.New("wrong")
	bad := Checked(s, func() error { return wrong })
	others := func() {
		for range 3 {
			x := NewWork(s)
			x.AddSource(a.Retain())
			join(x)
			x.Release()
		}
	}
	w := NewWork(s)
	w.AddSource(a.Retain())
	others()
	w.AddSource(bad)
	join(w)
	others()
	done, err := w.Ended()
	require.True(t, done)
	require.ErrorIs(t, err, wrong)
	w.Release()
}

// Two goroutines give Works their sources, while each also asks the Works of the other: the race detector looks on.
func TestSourcesAreAddedWhileOthersAsk(t *testing.T) {
	behind, s := newStream(t), newStream(t)
	hold, err := behind.Gate() // so that the sources do not end
	require.NoError(t, err)
	a := deep(t, behind)
	var o [2]Order // of two buffers
	for i := range o {
		o[i].Add(a, true, true, span.Range{Hi: 4})
		b := NewWork(behind)
		b.AddSource(a.Retain())
		o[i].Add(b, true, true, span.Range{Lo: 4, Hi: 8})
		b.Release()
	}
	a.Release()
	var both sync.WaitGroup
	for i := range o {
		both.Go(func() {
			for range 10000 {
				w := NewWork(s)
				o[i].SetSources(w, span.Range{Hi: 8}) // two
				join(w)
				w.Release()
			}
		})
	}
	both.Wait()
	o[0].Clear()
	o[1].Clear()
	require.NoError(t, hold.Signal())
}
