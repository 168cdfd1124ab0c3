// Package hook notes which functions run. Command path puts a call of [In] into each function of a copy of this module.
package hook

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
)

// Entries are the functions that ran, each once, in the order in which they were entered first.
type Entries struct {
	All []int // of all goroutines
	Own []int // of the goroutine that called Begin
}

var now struct {
	mu        sync.Mutex
	on        bool
	goroutine uint64
	all, own  map[int]bool
	entries   Entries
}

// Begin begins to note functions.
func Begin() {
	now.mu.Lock()
	defer now.mu.Unlock()
	now.on, now.goroutine, now.all, now.own, now.entries = true, goroutine(), map[int]bool{}, map[int]bool{}, Entries{}
}

// End returns what has run since Begin.
func End() Entries {
	now.mu.Lock()
	defer now.mu.Unlock()
	now.on = false
	return now.entries
}

// In notes that a function is entered.
func In(function int) {
	now.mu.Lock()
	defer now.mu.Unlock()
	if !now.on {
		return
	}
	if !now.all[function] {
		now.all[function] = true
		now.entries.All = append(now.entries.All, function)
	}
	if !now.own[function] && goroutine() == now.goroutine {
		now.own[function] = true
		now.entries.Own = append(now.entries.Own, function)
	}
}

// goroutine returns the number of the calling goroutine, which the first line of its stack names.
func goroutine() uint64 {
	var line [64]byte
	text := bytes.TrimPrefix(line[:runtime.Stack(line[:], false)], []byte("goroutine "))
	number, _, _ := bytes.Cut(text, []byte(" "))
	n, _ := strconv.ParseUint(string(number), 10, 64)
	return n
}
