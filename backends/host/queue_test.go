package host

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

// A queue that grows wherever its ring has wrapped gives back what was put in, in order.
func TestQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		var q queue
		var in, out uint64
		for range 500 {
			for range random.IntN(12) {
				q.push(op{n: in})
				in++
			}
			for range random.IntN(12) {
				if q.n == 0 {
					break
				}
				if got := q.first().n; got != out {
					t.Fatalf("round %d: got operation %d, want %d", round, got, out)
				}
				q.drop()
				out++
			}
			if uint64(q.n) != in-out {
				t.Fatalf("round %d: %d in the queue, want %d", round, q.n, in-out)
			}
		}
		for ; q.n > 0; q.drop() {
		}
		for i, o := range q.ring {
			if o != (op{}) {
				t.Fatalf("round %d: slot %d keeps %+v", round, i, o)
			}
		}
	}
}

// What takes no work takes no place in the queue, and a time stamp is its own operation.
func TestQueueLength(t *testing.T) {
	d, err := New(Options{}).Open(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := newStream(d.(*device))
	plain, timed := &event{}, &event{timing: true}
	want := func(issued uint64) {
		t.Helper()
		if got := s.issued.Load(); got != issued {
			t.Fatalf("%d operations enqueued, want %d", got, issued)
		}
	}
	must(s.Record(plain))
	must(s.Record(timed))
	must(s.Wait(plain))
	want(0)
	g, err := s.Gate()
	must(err)
	want(1)
	must(s.Record(plain))
	must(s.Wait(plain))
	want(1)
	must(s.Record(timed))
	want(2)
	if plain.done != 1 || timed.done != 2 {
		t.Errorf("events stand for %d and %d operations, want 1 and 2", plain.done, timed.done)
	}
	must(s.Wait(timed))
	want(2)
	var other driver.Stream = newStream(d.(*device))
	must(other.Wait(timed))
	if got := other.(*stream).issued.Load(); got != 1 {
		t.Errorf("another stream has %d operations, want its wait", got)
	}
	must(g.Open())
	must(other.Sync())
}
