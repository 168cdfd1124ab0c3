package host_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal/driver"
)

// A goroutine that looks for the next launch stops even if the clock stands still, as it does in package synctest.
func TestLooksEndWithoutAClock(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	}
	synctest.Test(t, func(t *testing.T) {
		d := open(t, host.Options{}, 0)
		s := newStream(t, d)
		meet := make(chan struct{})
		launch := functions(t, d, map[string]driver.Function{"meets": {Run: func(b *driver.Block) { // so two goroutines have to run the two blocks
			if b.Index[0] == 0 {
				meet <- struct{}{}
			} else {
				<-meet
			}
		}}})
		launch(s, "meets", 2)
		check(t, s.Sync())
	})
}
