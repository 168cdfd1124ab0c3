package kernel

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// patience is how long a compilation takes before a user who may wait for it is told.
const patience = 2 * time.Second

// tell writes a line if what begins now takes long, and another one at its end. The program calls end when it is done.
func tell(to io.Writer, format string, args ...any) (end func()) {
	if to == nil {
		return func() {}
	}
	var mu sync.Mutex
	told, begin := false, time.Now()
	what := fmt.Sprintf(format, args...)
	late := time.AfterFunc(patience, func() {
		mu.Lock()
		defer mu.Unlock()
		told = true
		fmt.Fprintf(to, "halyard: %s takes longer than %v\n", what, patience)
	})
	return func() {
		if late.Stop() {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if told {
			fmt.Fprintf(to, "halyard: %s took %v\n", what, time.Since(begin).Round(100*time.Millisecond))
		}
	}
}
