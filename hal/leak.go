package hal

import (
	"log/slog"
	"sync/atomic"
)

// Leak describes an object that became unreachable without having been closed. The library gives it
// back nevertheless, once the work that uses it has finished.
type Leak struct {
	Object string // "device memory of 4096 bytes", "stream", ...
	Device string // "cuda:0"
}

var leakHandler atomic.Pointer[func(Leak)]

// SetLeakHandler sets the function that is called for each leak, and returns the previous one. The
// default, nil, logs a warning through log/slog. The handler runs on the runtime's cleanup
// goroutine and must not block.
func SetLeakHandler(fn func(Leak)) (previous func(Leak)) {
	var old *func(Leak)
	if fn == nil {
		old = leakHandler.Swap(nil)
	} else {
		old = leakHandler.Swap(&fn)
	}
	if old == nil {
		return nil
	}
	return *old
}

func (s *deviceState) reportLeak(object string) {
	reportLeak(Leak{Object: object, Device: s.Info.Name()})
}

// reportLeak reports the leak of another package's object to the leak handler. It does not give the object back.
func reportLeak(l Leak) {
	if fn := leakHandler.Load(); fn != nil {
		(*fn)(l)
		return
	}
	slog.Warn("halyard: never closed", "object", l.Object, "device", l.Device)
}
