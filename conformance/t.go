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
	"github.com/go-halyard/halyard/kernel"
)

// trial is passed to a check as testing.T is passed to a test, and holds
// the devices under test. FailNow, Fatalf and Skipf end the calling goroutine, which must be the check's
// own; the other methods are safe for concurrent use unless their comments say otherwise.
type trial struct {
	p     *plan
	check Check
	ctx   context.Context
	rng   *rand.Rand

	mu      sync.Mutex
	log     []string
	reason  string // why the check failed or was skipped
	failed  bool
	skipped bool
	sealed  bool // the result was returned; later reports are dropped
	gates   []*hal.Gate

	cleanups []func() // used by the check's goroutine alone
	dev      *hal.Device
	peer     *hal.Device
	others   []*hal.Device
	kernels  *kernel.Program // made at the first call of program
}

func newT(p *plan, c Check, ctx context.Context) *trial {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Name))
	return &trial{p: p, check: c, ctx: ctx, rng: rand.New(rand.NewPCG(p.Seed, h.Sum64()))}
}

// main is the check's goroutine.
func (t *trial) main() {
	defer t.clean()
	t.guard(func() {
		t.open()
		t.check.run(t)
	})
}

// guard runs fn and makes a panic a failure.
func (t *trial) guard(fn func()) {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	fn()
}

// clean runs the cleanups, last first, each even if another one failed.
func (t *trial) clean() {
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
func (t *trial) open() {
	t.dev = t.openWith("the device", t.p.Open)
	if missing := t.check.Needs &^ t.dev.Caps(); missing != 0 {
		t.Skipf("the device lacks: %v", missing)
	}
	if t.check.NeedsPeer && t.p.Peer == nil {
		t.Skipf("no other device of the backend")
	}
	if t.check.NeedsPeer || t.check.takesPeer && t.p.Peer != nil {
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

// openWith opens a device that is closed at the end of the check. If hardware is missing, the check is skipped.
func (t *trial) openWith(what string, open func(context.Context) (*hal.Device, error)) *hal.Device {
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

// Open returns another handle on the device under test, closed at the end of the check. The handles share the device if
// Harness.Open uses the same backend each time.
func (t *trial) Open() *hal.Device { return t.openWith("the device", t.p.Open) }

// separate opens the device under test as another device, which no other handle shares: its streams and memory do not belong to
// the first one. It is closed at the end of the check.
func (t *trial) separate() *hal.Device { return t.openWith("the device once more", t.openSeparate) }

func (t *trial) openSeparate(ctx context.Context) (*hal.Device, error) {
	b := t.backend()
	if b == nil {
		t.Skipf("backend %q is not registered, and Harness.Backend is nil", t.dev.Info().Backend)
	}
	return hal.OpenWith(ctx, &another{b}, t.dev.Info().Ordinal)
}

// another is a backend that is equal to no other.
type another struct{ driver.Backend }

// Dev returns the device under test.
func (t *trial) Dev() *hal.Device { return t.dev }

// Peer returns the other device of the backend, in checks that need one.
func (t *trial) Peer() *hal.Device { return t.peer }

// Others returns the devices of other backends, in checks that need one.
func (t *trial) Others() []*hal.Device { return t.others }

// Context returns a context that ends when the check's time is over.
func (t *trial) Context() context.Context { return t.ctx }

// Rand returns the check's source of random numbers. Only the check's own goroutine may use it.
func (t *trial) Rand() *rand.Rand { return t.rng }

// Size returns full, or short if Harness.Short is set.
func (t *trial) Size(full, short int) int {
	if t.p.Short {
		return short
	}
	return full
}

// Name returns the check's "Group/Name".
func (t *trial) Name() string { return t.check.Name }

// Helper does nothing: a failure always shows the lines of the check where it happened.
func (t *trial) Helper() {}

// Cleanup registers fn to run at the end of the check, after functions registered later. Only the check's own
// goroutine may call it.
func (t *trial) Cleanup(fn func()) { t.cleanups = append(t.cleanups, fn) }

// Logf adds to the check's log.
func (t *trial) Logf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.sealed {
		t.log = append(t.log, fmt.Sprintf(format, args...))
	}
}

// Errorf makes the check fail and go on.
func (t *trial) Errorf(format string, args ...any) {
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

// The prefixes of function names by which trial.where finds the helpers of checks, which it leaves out, and the runner, where it stops.
var (
	helper = method(reflect.TypeFor[trial]())
	runner = method(reflect.TypeFor[plan]())
)

// method returns the prefix of the names of a pointer type's methods.
func method(r reflect.Type) string { return r.PkgPath() + ".(*" + r.Name() + ")." }

// where returns the lines of the check that led to the report, innermost first. Lines of helpers are left out.
func (t *trial) where() string {
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
func (t *trial) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	t.FailNow()
}

// FailNow makes the check fail and ends it.
func (t *trial) FailNow() {
	t.mu.Lock()
	if !t.failed && !t.sealed {
		t.failed, t.reason = true, "failed"
	}
	t.mu.Unlock()
	runtime.Goexit()
}

// Skipf ends the check as skipped, because something that it needs is missing.
func (t *trial) Skipf(format string, args ...any) {
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

// result seals the check, so that later reports of goroutines left behind do not count, and returns its result.
func (t *trial) result(d time.Duration) Result {
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
