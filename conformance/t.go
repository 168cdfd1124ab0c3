package conformance

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// T is what a check runs with. It does for a check what testing.T does for a test, so that assertions of
// testify work on it, and keeps the devices under test. FailNow and Skipf end the goroutine that calls
// them and are for the check's own; the other methods are safe for concurrent use.
type T struct {
	p     *plan
	check Check
	ctx   context.Context
	rng   *rand.Rand

	mu      sync.Mutex
	log     []string
	reason  string // of the failure or skip
	failed  bool
	skipped bool
	sealed  bool // the result was taken
	gates   []*hal.Gate

	cleanups []func() // used by the check's goroutine alone
	dev      *hal.Device
	peer     *hal.Device
	others   []*hal.Device
}

func newT(p *plan, c Check, ctx context.Context) *T {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.FullName()))
	return &T{p: p, check: c, ctx: ctx, rng: rand.New(rand.NewPCG(p.Seed, h.Sum64()))}
}

// main is the check's goroutine.
func (t *T) main() {
	defer t.clean()
	t.guard(func() {
		t.open()
		t.check.run(t)
	})
}

// guard runs fn and makes a panic a failure.
func (t *T) guard(fn func()) {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	fn()
}

// clean runs the cleanups, last first, each even if another one failed.
func (t *T) clean() {
	for len(t.cleanups) > 0 {
		fn := t.cleanups[len(t.cleanups)-1]
		t.cleanups = t.cleanups[:len(t.cleanups)-1]
		done := make(chan struct{})
		go func() { // FailNow in a cleanup ends that goroutine only
			defer close(done)
			t.guard(fn)
		}()
		<-done
	}
}

// open opens the devices that the check needs.
func (t *T) open() {
	t.dev = t.openWith("the device", t.p.Open)
	if missing := t.check.Needs &^ t.dev.Caps(); missing != 0 {
		t.Skipf("the device lacks: %v", missing)
	}
	if t.check.NeedsPeer {
		if t.p.Peer == nil {
			t.Skipf("no other device of the backend")
		}
		t.peer = t.openWith("the peer", t.p.Peer)
	}
	if t.check.NeedsOther {
		if len(t.p.Others) == 0 {
			t.Skipf("no device of another backend")
		}
		for i := range t.p.Others {
			t.others = append(t.others, t.openWith("a device of another backend", t.p.Others[i]))
		}
	}
}

// openWith opens a device that is closed at the end of the check. Hardware that is not there is a skip.
func (t *T) openWith(what string, open func(context.Context) (*hal.Device, error)) *hal.Device {
	t.Helper()
	d, err := open(t.ctx)
	if errors.Is(err, hal.ErrUnavailable) || errors.Is(err, hal.ErrNotBuilt) {
		t.Skipf("%s is unavailable: %v", what, err)
	}
	if err != nil {
		t.Fatalf("open %s: %v", what, err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close %s: %v", what, err)
		}
	})
	return d
}

// Open returns one more handle on the device under test, closed at the end of the check. If Harness.Open takes the backend that
// it took before, both share the device.
func (t *T) Open() *hal.Device { return t.openWith("the device", t.p.Open) }

// separate opens the device under test once more, as another device: no handle shares it, and its streams and memory are foreign to
// those of the first. It closes at the end of the check.
func (t *T) separate() *hal.Device { return t.openWith("the device once more", t.openSeparate) }

func (t *T) openSeparate(ctx context.Context) (*hal.Device, error) {
	b := t.backend()
	if b == nil {
		t.Skipf("backend %q is not registered, and Harness.Backend is nil", t.dev.Info().Backend)
	}
	return hal.OpenWith(ctx, &another{b}, t.dev.Info().Ordinal)
}

// another is a backend that is equal to no other.
type another struct{ driver.Backend }

// Dev is the device under test.
func (t *T) Dev() *hal.Device { return t.dev }

// Peer is the other device of the backend, in checks that need one.
func (t *T) Peer() *hal.Device { return t.peer }

// Others are the devices of other backends, in checks that need one.
func (t *T) Others() []*hal.Device { return t.others }

// Context ends when the check's time is over.
func (t *T) Context() context.Context { return t.ctx }

// Rand is the check's source of random numbers, for its own goroutine.
func (t *T) Rand() *rand.Rand { return t.rng }

// Size is full, or short in a short run.
func (t *T) Size(full, short int) int {
	if t.p.Short {
		return short
	}
	return full
}

// Name is "Group/Name" of the check.
func (t *T) Name() string { return t.check.FullName() }

// Helper does nothing: failures show where in the check they happened.
func (t *T) Helper() {}

// Cleanup runs fn at the end of the check, after those registered later. The check's own goroutine may
// call it.
func (t *T) Cleanup(fn func()) { t.cleanups = append(t.cleanups, fn) }

// Logf adds to the check's log.
func (t *T) Logf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.sealed {
		t.log = append(t.log, fmt.Sprintf(format, args...))
	}
}

// Errorf makes the check fail and go on.
func (t *T) Errorf(format string, args ...any) {
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	where := t.where()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return
	}
	if !t.failed {
		t.failed = true
		t.reason, _, _ = strings.Cut(text, "\n")
	}
	t.log = append(t.log, where+text)
}

// The suite's own methods: helpers of checks, and what runs them.
var (
	helper = method(reflect.TypeFor[T]())
	runner = method(reflect.TypeFor[plan]())
)

// method is what the names of the methods of a pointer to the type begin with.
func method(r reflect.Type) string { return r.PkgPath() + ".(*" + r.Name() + ")." }

// where are the lines of the check that report, innermost first. Those of helpers are left out.
func (t *T) where() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var lines []string
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, runner) {
			break
		}
		if strings.Contains(f.Function, "/conformance.") && !strings.HasPrefix(f.Function, helper) {
			lines = append(lines, fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line))
		}
		if !more {
			break
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, " < ") + ": "
}

// Fatalf makes the check fail and ends it.
func (t *T) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	t.FailNow()
}

// FailNow makes the check fail and ends it.
func (t *T) FailNow() {
	t.mu.Lock()
	if !t.failed && !t.sealed {
		t.failed, t.reason = true, "failed"
	}
	t.mu.Unlock()
	runtime.Goexit()
}

// Skipf ends the check because something that it needs is not there.
func (t *T) Skipf(format string, args ...any) {
	t.mu.Lock()
	if !t.sealed {
		t.skipped = true
		if !t.failed {
			t.reason = fmt.Sprintf(format, args...)
		}
	}
	t.mu.Unlock()
	runtime.Goexit()
}

// result seals the check: what goroutines left behind say does not count any more.
func (t *T) result(d time.Duration) Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sealed = true
	r := Result{Check: t.check, Reason: t.reason, Log: t.log, Duration: d}
	switch {
	case t.failed:
		r.Outcome = Failed
		r.Log = append(r.Log, fmt.Sprintf("seed %d", t.p.Seed))
	case t.skipped:
		r.Outcome = Skipped
	}
	return r
}
