package hal

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

func TestAHandleIsFinishedOnce(t *testing.T) {
	rounds := 5000
	if testing.Short() {
		rounds = 500
	}
	for i := range rounds {
		var h handle
		var finished atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for h.enter() {
					runtime.Gosched()
					if h.leave() {
						finished.Add(1)
					}
				}
			}()
		}
		runtime.Gosched()
		if _, finish := h.close(); finish {
			finished.Add(1)
		}
		wg.Wait()
		if n := finished.Load(); n != 1 {
			t.Fatalf("round %d: finished %d times", i, n)
		}
	}
}
