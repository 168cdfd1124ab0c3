package order

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/span"
)

// chainOf returns a Work of a new chain, with one reference.
func chainOf(t *testing.T) (*Work, func()) {
	s := newStream(t)
	w := NewWork(s)
	for range chained + 1 {
		next := NewWork(s)
		next.MadeOf(w)
		next.join()
		w = next
	}
	require.NotNil(t, w.chain)
	return w, w.Release
}

// A Work with several causes fails with any of them, whatever other Works join its chain meanwhile.
func TestEveryCauseCounts(t *testing.T) {
	s := newStream(t)
	a, release := chainOf(t)
	defer release()
	wrong := errors.New("wrong")
	bad := Checked(s, func() error { return wrong })
	others := func() {
		for range 3 {
			x := NewWork(s)
			x.MadeOf(a.Retain())
			x.join()
			x.Release()
		}
	}
	w := NewWork(s)
	w.MadeOf(a.Retain())
	others()
	w.MadeOf(bad)
	w.join()
	others()
	done, err := w.End()
	require.True(t, done)
	require.ErrorIs(t, err, wrong)
	w.Release()
}

// Two goroutines give Works of one chain their causes, while the Works of the other ask theirs: the race detector looks on.
func TestCausesAreAddedWhileTheChainAsks(t *testing.T) {
	behind, s := newStream(t), newStream(t)
	hold, err := behind.Gate() // so that the causes do not end
	require.NoError(t, err)
	a := NewWork(behind)
	for range chained + 1 {
		next := NewWork(behind)
		next.MadeOf(a)
		next.join()
		a = next
	}
	var o [2]Order // of two buffers
	for i := range o {
		o[i].Add(a, true, Own, span.Range{Hi: 4})
		b := NewWork(behind)
		b.MadeOf(a.Retain())
		o[i].Add(b, true, Own, span.Range{Lo: 4, Hi: 8})
		b.Release()
	}
	a.Release()
	var both sync.WaitGroup
	for i := range o {
		both.Go(func() {
			for range 10000 {
				w := NewWork(s)
				o[i].MakeOf(w, span.Range{Hi: 8}) // two causes
				w.join()
				w.Release()
			}
		})
	}
	both.Wait()
	o[0].Clear()
	o[1].Clear()
	require.NoError(t, hold.Signal())
}
