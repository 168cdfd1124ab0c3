//go:build cuda && hip && opencl && linux

package main

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// patience is how long a scenario may take that says nothing else. The longest needs a minute on a busy machine.
const patience = 10 * time.Minute

// within runs fn as ends does. If fn hangs it ends the scenario, and whatever that still reports does not count, because it follows from the
// hang.
func (r *run) within(limit time.Duration, what string, fn func()) {
	if !r.ends(limit, what, fn) {
		r.giveUp()
	}
}

func (r *run) giveUp() {
	tallies.Lock()
	r.hung = true
	tallies.Unlock()
	panic(stopped{})
}

// ends runs fn on a goroutine of its own and waits until that has ended: fn may return or call runtime.Goexit; a failed check ends the
// scenario. If it takes longer than limit, ends leaves it behind, counts a hang with the stacks of all goroutines that are in Halyard, and
// returns false.
func (r *run) ends(limit time.Duration, what string, fn func()) bool {
	ended, sound := make(chan struct{}), true
	go func() {
		defer close(ended)
		sound = r.guard(fn) // not after Goexit, which is no failure
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ended:
		if !sound {
			panic(stopped{})
		}
		return true
	case <-timer.C:
		r.count(&r.Hangs, 1)
		r.fail("%s did not end within %s\n%s", what, limit, inHalyard())
		return false
	}
}

// inHalyard returns the stacks of the goroutines that are in a function of Halyard.
func inHalyard() string {
	text := make([]byte, 1<<20)
	text = text[:runtime.Stack(text, true)]
	var found []string
	for i, stack := range bytes.Split(text, []byte("\n\n")) {
		if i > 0 && bytes.Contains(stack, []byte("go-halyard/halyard")) { // the first is this one
			found = append(found, string(stack))
		}
	}
	slices.Reverse(found) // those of this hang began last
	const most = 40
	if n := len(found) - most; n > 0 {
		found = append(found[:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(found, "\n\n")
}
