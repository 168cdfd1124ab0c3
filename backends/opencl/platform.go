//go:build opencl

package opencl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/siglib"
)

// flight is a call into a vendor's library that may never return. It runs once, on its own
// goroutine. Any number of callers can wait for it, each until its own context ends.
type flight[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// takeOff starts the call f.
func takeOff[T any](f func() (T, error)) *flight[T] {
	fl := &flight[T]{done: make(chan struct{})}
	go func() {
		defer close(fl.done)
		fl.value, fl.err = f()
	}()
	return fl
}

// landed reports whether the call returned before ctx ended.
func (f *flight[T]) landed(ctx context.Context) bool {
	select {
	case <-f.done:
		return true
	default:
	}
	select {
	case <-f.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// library is one OpenCL library and the devices that it has listed.
type library struct {
	t     *table
	limit time.Duration

	mu       sync.Mutex
	listing  *flight[listing]
	found    []*hardware // by ordinal
	contexts map[contextKey]*sharedContext
}

type listing struct {
	platforms []*platform
	problems  []string
}

// platform is one vendor's implementation of OpenCL.
type platform struct {
	id    uintptr
	index int // in the library's list
	name  atomic.Pointer[string]

	once    sync.Once
	devices *flight[[]*hardware]
	listed  bool // the library's field found contains its devices
}

func newLibrary(t *table, limit time.Duration) *library {
	return &library{t: t, limit: limit, contexts: map[contextKey]*sharedContext{}}
}

// enumerate returns the devices by ordinal, and the reasons why other devices are missing.
func (l *library) enumerate(ctx context.Context, op string) ([]*hardware, []string, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, &driver.Error{Op: op, Backend: backendName, Device: -1, Kind: driver.ErrNotReady, Err: err}
	}
	limited, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()

	l.mu.Lock()
	if l.listing == nil {
		l.listing = takeOff(l.list)
	}
	first := l.listing
	l.mu.Unlock()
	if !first.landed(limited) {
		return nil, nil, l.late(ctx, limited, op, "the OpenCL library did not list its platforms in time")
	}
	if first.err != nil {
		l.mu.Lock()
		if l.listing == first {
			l.listing = nil
		}
		l.mu.Unlock()
		return nil, nil, first.err
	}

	for _, p := range first.value.platforms {
		p.once.Do(func() {
			p.devices = takeOff(func() ([]*hardware, error) { return p.ask(l.t) })
		})
	}
	problems := first.value.problems[:len(first.value.problems):len(first.value.problems)]
	silent := 0
	for _, p := range first.value.platforms {
		switch {
		case !p.devices.landed(limited):
			silent++
			problems = append(problems, p.String()+" did not list its devices in time")
		case p.devices.err != nil:
			problems = append(problems, p.devices.err.Error())
		}
	}
	if silent > 0 && errors.Is(ctx.Err(), context.Canceled) {
		return nil, nil, l.late(ctx, limited, op, "")
	}

	l.mu.Lock()
	for _, p := range first.value.platforms {
		if p.listed {
			continue
		}
		select {
		case <-p.devices.done:
			p.listed = true
			l.found = append(l.found, p.devices.value...)
		default:
		}
	}
	found := l.found[:len(l.found):len(l.found)]
	l.mu.Unlock()

	if len(found) == 0 && silent > 0 {
		return nil, nil, l.late(ctx, limited, op, strings.Join(problems, "; "))
	}
	for _, h := range found {
		if h.problem != "" {
			problems = append(problems, h.problem)
		}
	}
	return found, problems, nil
}

// late returns the error for an enumeration that did not end in time.
func (l *library) late(ctx, limited context.Context, op, detail string) error {
	kind := driver.ErrUnavailable
	if errors.Is(ctx.Err(), context.Canceled) {
		kind = driver.ErrNotReady
	}
	return &driver.Error{Op: op, Backend: backendName, Device: -1, Kind: kind, Detail: detail, Err: limited.Err()}
}

// list queries the library's platforms.
func (l *library) list() (listing, error) {
	askForSignalHandlers()
	siglib.Enter()
	defer siglib.Leave()
	ids, st := l.t.getPlatformIDs()
	if st != success && st != noPlatform {
		return listing{}, failure("list devices", -1, "clGetPlatformIDs", st)
	}
	problems := driverProblems()
	if len(ids) == 0 {
		err := failure("list devices", -1, "clGetPlatformIDs", noPlatform)
		err.Detail = fmt.Sprintf("%s finds no OpenCL driver", l.t.library)
		if len(problems) > 0 {
			err.Detail += ": " + strings.Join(problems, "; ")
		}
		err.Detail += "; a driver is registered by a file in /etc/OpenCL/vendors, or in the folder that OCL_ICD_VENDORS names"
		return listing{}, err
	}
	li := listing{problems: problems}
	for i, id := range ids {
		li.platforms = append(li.platforms, &platform{id: id, index: i})
	}
	return li, nil
}

// String names the platform in messages.
func (p *platform) String() string {
	if name := p.name.Load(); name != nil {
		return fmt.Sprintf("platform %d (%s)", p.index, *name)
	}
	return fmt.Sprintf("platform %d", p.index)
}

// ask queries the platform's devices.
func (p *platform) ask(t *table) ([]*hardware, error) {
	siglib.Enter()
	defer siglib.Leave()
	about := facts{func(param uint32, value []byte) (uint64, status) {
		return t.getPlatformInfo(p.id, param, value)
	}}
	name := about.text(platformName)
	p.name.Store(&name)
	ids, st := t.getDeviceIDs(p.id, deviceTypeAll)
	if st == deviceNotFound || st == success && len(ids) == 0 {
		return nil, fmt.Errorf("%s has no devices", p)
	}
	if st != success {
		return nil, fmt.Errorf("%s: %w", p, failure("list devices", -1, "clGetDeviceIDs", st))
	}
	usm := sync.OnceValue(func() *usmTable { return t.usm(p.id) })
	var devices []*hardware
	var reasons []string
	for _, id := range ids {
		h, why := describe(t, p, id, usm)
		if why != "" {
			reasons = append(reasons, why)
			continue
		}
		devices = append(devices, h)
	}
	if len(devices) == 0 {
		return nil, fmt.Errorf("%s has no usable device: %s", p, strings.Join(reasons, "; "))
	}
	devices[0].problem = strings.Join(reasons, "; ")
	return devices, nil
}
