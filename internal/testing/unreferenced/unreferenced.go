// Package unreferenced calls every exported method of a type on an object that nothing but the call refers to, while the garbage collector
// runs. The call has to keep the object open until it returns.
package unreferenced

import (
	"errors"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// watch is what Methods has seen since the call began.
var watch struct {
	sync.Mutex
	calling bool
	leaks   []string
}

// Backend returns a layer around a backend that runs the collector in every call of the driver.
func Backend(b driver.Backend) *hooked.Backend {
	return &hooked.Backend{Backend: b, Call: func(string, int) error {
		watch.Lock()
		calling := watch.calling
		watch.Unlock()
		if calling {
			collect()
		}
		return nil
	}}
}

// collect runs the collector, and the cleanups of what it finds.
func collect() {
	for range 2 {
		ran := make(chan struct{})
		runtime.AddCleanup(new([64]byte), func(ran chan struct{}) { close(ran) }, ran)
		for n := 0; n < 100; n++ { // cleanups may wait for a lock that the caller holds
			runtime.GC()
			select {
			case <-ran:
				n = 100
			default:
				runtime.Gosched()
			}
		}
	}
}

// Methods calls every exported method of *T on an object that fresh has made for it. It fails if calls lacks a method, if a call returns
// another error than ErrUnsupported, or if an object of the call is reported as a leak before it returns. except are methods that only tests
// of the package have.
func Methods[T any](t *testing.T, fresh func() *T, calls map[string]func(*T) error, except ...string) {
	t.Helper()
	previous := hal.SetLeakHandler(func(l hal.Leak) {
		watch.Lock()
		defer watch.Unlock()
		if watch.calling {
			watch.leaks = append(watch.leaks, l.Object)
		}
	})
	defer func() { hal.SetLeakHandler(previous) }()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	typ := reflect.TypeFor[*T]()
	for i := range typ.NumMethod() {
		name := typ.Method(i).Name
		call := calls[name]
		if slices.Contains(except, name) {
			continue
		}
		if !assert.NotNil(t, call, "%v.%s is not called here", typ, name) {
			continue
		}
		collect() // what earlier calls have left
		leaks, err := one(fresh, call)
		assert.Empty(t, leaks, "%v.%s: the collector has closed these during the call", typ, name)
		if !errors.Is(err, hal.ErrUnsupported) {
			assert.NoError(t, err, "%v.%s", typ, name)
		}
	}
	runtime.KeepAlive(calls) // with what they refer to
	collect()
}

// one makes one call. The object is reachable from nowhere else once it has begun.
func one[T any](fresh func() *T, call func(*T) error) (leaks []string, err error) {
	x := fresh()
	watching(true)
	err = call(x)
	return watching(false), err
}

func watching(calling bool) (leaks []string) {
	watch.Lock()
	defer watch.Unlock()
	leaks, watch.leaks, watch.calling = watch.leaks, nil, calling
	return leaks
}
