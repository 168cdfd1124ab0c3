//go:build linux && (amd64 || arm64)

package siglib

import (
	"sync"
	"syscall"
	"unsafe"
)

// Works says whether the package restores handlers on this system.
const Works = true

const (
	signals = 65
	setSize = 8 // bytes of a kernel signal set

	// The C library keeps these two for itself.
	firstInternal, lastInternal = 32, 33
)

// action is the kernel's struct sigaction.
type action struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

func swap(sig int, install, old *action) bool {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(install)), uintptr(unsafe.Pointer(old)), setSize, 0, 0)
	return errno == 0
}

var guard struct {
	sync.Mutex
	depth  int
	before [signals]action
}

// Enter records which handlers are installed. Every Enter is followed by a [Leave]. Pairs on several
// goroutines may overlap; then the handlers recorded by the first Enter are restored.
func Enter() {
	guard.Lock()
	defer guard.Unlock()
	if guard.depth++; guard.depth > 1 {
		return
	}
	for sig := 1; sig < signals; sig++ {
		if !swap(sig, nil, &guard.before[sig]) {
			guard.before[sig] = action{}
		}
	}
}

// Leave restores every handler that has been replaced since Enter, unless Enter saw the new handler for some signal. It returns how many it
// restored. Handlers that the Go runtime installed meanwhile, for signal.Notify, stay: Enter has seen the runtime's handler.
func Leave() (restored int) {
	guard.Lock()
	defer guard.Unlock()
	guard.depth--
	for sig := 1; sig < signals; sig++ {
		if sig >= firstInternal && sig <= lastInternal {
			continue
		}
		var now action
		if !swap(sig, nil, &now) || now.handler == guard.before[sig].handler || known(now.handler) {
			continue
		}
		if swap(sig, &guard.before[sig], nil) {
			restored++
		}
	}
	return restored
}

// known reports whether Enter saw the handler for any signal. The handlers 0 (default) and 1 (ignore) are always known.
func known(handler uintptr) bool {
	if handler <= 1 {
		return true
	}
	for sig := range guard.before {
		if guard.before[sig].handler == handler {
			return true
		}
	}
	return false
}
