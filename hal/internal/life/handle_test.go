package life

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

func TestAHandleIsFinishedOnce(t *testing.T) {
	const all = 5000
	rounds := all
	if testing.Short() {
		rounds = 500
	}
	for i := range rounds {
		var h Handle
		var finished atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for h.Enter() {
					runtime.Gosched()
					if h.Leave() {
						finished.Add(1)
					}
				}
			}()
		}
		runtime.Gosched()
		if _, finish := h.Close(); finish {
			finished.Add(1)
		}
		wg.Wait()
		if n := finished.Load(); n != 1 {
			t.Fatalf("round %d: finished %d times", i, n)
		}
	}
	t.Logf("did %d of %d rounds", rounds, all)
}

// A call that goes on elsewhere keeps a handle that is closed meanwhile from being finished.
func TestAHandleThatIsClosedMeanwhile(t *testing.T) {
	var h Handle
	if !h.Enter() {
		t.Fatal("a new handle is closed")
	}
	if first, finish := h.Close(); !first || finish {
		t.Fatal("closed with a call under way: ", first, finish)
	}
	h.Stay()
	if h.Leave() || !h.Closed() || h.Enter() {
		t.Fatal("the first call has left, and the other one is under way")
	}
	if !h.Leave() || !h.Closed() || h.Enter() {
		t.Fatal("the last call has left")
	}
	if first, finish := h.Close(); first || finish {
		t.Fatal("closed twice: ", first, finish)
	}
}
