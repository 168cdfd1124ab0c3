//go:build opencl

package opencl

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// balance counts the objects of the vendor that are held, by kind.
type balance struct {
	mu   sync.Mutex
	held map[string]int
}

func (b *balance) add(kind string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[kind] += n; b.held[kind] == 0 {
		delete(b.held, kind)
	}
}

func (b *balance) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.held) == 0 {
		return ""
	}
	return fmt.Sprint(b.held)
}

// counted wraps each call of a table that makes or releases something. Every enqueue makes an event.
func counted(t *table, b *balance) *table {
	c := *t
	countEvents(reflect.ValueOf(&c).Elem(), b)
	c.createContext = func(p []uintptr, d uintptr) (uintptr, status) { return made(b, "context")(t.createContext(p, d)) }
	c.releaseContext = func(x uintptr) status { b.add("context", -1); return t.releaseContext(x) }
	c.createQueue = func(x, d uintptr, p uint64) (uintptr, status) { return made(b, "queue")(t.createQueue(x, d, p)) }
	c.retainQueue = func(q uintptr) status { b.add("queue", 1); return t.retainQueue(q) }
	c.releaseQueue = func(q uintptr) status { b.add("queue", -1); return t.releaseQueue(q) }
	c.createBuffer = func(x uintptr, f, n uint64, h uintptr) (uintptr, status) {
		return made(b, "memory")(t.createBuffer(x, f, n, h))
	}
	c.retainBuffer = func(m uintptr) status { b.add("memory", 1); return t.retainBuffer(m) }
	c.releaseBuffer = func(m uintptr) status { b.add("memory", -1); return t.releaseBuffer(m) }
	c.createUserEvent = func(x uintptr) (uintptr, status) { return made(b, "event")(t.createUserEvent(x)) }
	c.retainEvent = func(e uintptr) status { b.add("event", 1); return t.retainEvent(e) }
	c.releaseEvent = func(e uintptr) status { b.add("event", -1); return t.releaseEvent(e) }
	c.createSubBuffer = func(m uintptr, part [2]uint64) (uintptr, status) {
		return made(b, "memory")(t.createSubBuffer(m, part))
	}
	c.createSource = func(x uintptr, s []unsafe.Pointer, n uint64) (uintptr, status) {
		return made(b, "program")(t.createSource(x, s, n))
	}
	c.createBinary = func(x, d uintptr, n uint64, s []unsafe.Pointer) (uintptr, status, status) {
		p, loaded, st := t.createBinary(x, d, n, s)
		_, _ = made(b, "program")(p, st)
		return p, loaded, st
	}
	if t.createILProgram != nil {
		c.createILProgram = func(x uintptr, s []byte) (uintptr, status) { return made(b, "program")(t.createILProgram(x, s)) }
	}
	c.il = nil
	c.linkProgram = func(x, d, p uintptr) (uintptr, status) {
		linked, st := t.linkProgram(x, d, p)
		if linked != 0 { // a link that fails may return a program too
			b.add("program", 1)
		}
		return linked, st
	}
	c.releaseProgram = func(p uintptr) status { b.add("program", -1); return t.releaseProgram(p) }
	c.createKernel = func(p uintptr, n string) (uintptr, status) { return made(b, "kernel")(t.createKernel(p, n)) }
	c.releaseKernel = func(k uintptr) status { b.add("kernel", -1); return t.releaseKernel(k) }
	if t.svmAlloc != nil {
		c.svmAlloc = func(x uintptr, f, n uint64, a uint32) uintptr {
			p := t.svmAlloc(x, f, n, a)
			if p != 0 {
				b.add("memory", 1)
			}
			return p
		}
		c.svmFree = func(x, p uintptr) { b.add("memory", -1); t.svmFree(x, p) }
	}
	c.usm = func(platform uintptr) *usmTable {
		u := t.usm(platform)
		if u == nil {
			return nil
		}
		w := *u
		countEvents(reflect.ValueOf(&w).Elem(), b)
		w.hostAlloc = func(x uintptr, n uint64, a uint32) (uintptr, status) { return made(b, "memory")(u.hostAlloc(x, n, a)) }
		w.deviceAlloc = func(x, d uintptr, n uint64, a uint32) (uintptr, status) {
			return made(b, "memory")(u.deviceAlloc(x, d, n, a))
		}
		w.sharedAlloc = func(x, d uintptr, n uint64, a uint32) (uintptr, status) {
			return made(b, "memory")(u.sharedAlloc(x, d, n, a))
		}
		w.free = func(x, p uintptr) status { b.add("memory", -1); return u.free(x, p) }
		return &w
	}
	return &c
}

func made(b *balance, kind string) func(uintptr, status) (uintptr, status) {
	return func(h uintptr, st status) (uintptr, status) {
		if st == success {
			b.add(kind, 1)
		}
		return h, st
	}
}

// countEvents wraps each function that is given a queue and returns an event and a status. Fields of
// other shapes are left to the caller.
func countEvents(v reflect.Value, b *balance) {
	eventType, statusType := reflect.TypeFor[uintptr](), reflect.TypeFor[status]()
	creators := []string{"createContext", "createQueue", "createBuffer", "createUserEvent", "hostAlloc", "deviceAlloc", "sharedAlloc",
		"createSubBuffer", "createSource", "createILProgram", "linkProgram", "createKernel"}
	for i := range v.NumField() {
		t := v.Type().Field(i)
		if t.Type.Kind() != reflect.Func || t.Type.NumOut() != 2 || t.Type.Out(0) != eventType ||
			t.Type.Out(1) != statusType || slices.Contains(creators, t.Name) {
			continue
		}
		// The fields are not exported, so they are reached by address.
		f := reflect.NewAt(t.Type, unsafe.Pointer(v.Field(i).UnsafeAddr())).Elem()
		if f.IsNil() {
			continue
		}
		inner := reflect.ValueOf(f.Interface())
		f.Set(reflect.MakeFunc(t.Type, func(args []reflect.Value) []reflect.Value {
			r := inner.Call(args)
			if status(r[1].Int()) == success {
				b.add("event", 1)
			}
			return r
		}))
	}
}

// place is one device in one tier through one binding.
type place struct {
	*device
	backend *backend
	ordinal int
	binding string
}

// again opens another handle on the same device.
func (p place) again(t testing.TB) place {
	t.Helper()
	d, err := p.backend.Open(t.Context(), p.ordinal)
	if err != nil {
		t.Fatal(err)
	}
	p.device = d.(*device)
	return p
}

// required reports whether the environment asks for OpenCL devices rather than a skip.
func required() bool {
	return slices.Contains(strings.FieldsFunc(os.Getenv("HALYARD_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' }), backendName)
}

func absent(t testing.TB, why string) {
	t.Helper()
	if required() {
		t.Fatalf("HALYARD_REQUIRE asks for OpenCL, but %s", why)
	}
	t.Skipf("no OpenCL device: %s", why)
}

var bindings = sync.OnceValue(func() map[string]func() (*table, error) {
	m := map[string]func() (*table, error){"loaded": loadTable}
	if t, err := bindTable(); err == nil && t.binding != "loaded" {
		m[t.binding] = bindTable
	}
	return m
})

// everywhere runs a test on each device, in each tier that it has, through each binding, and checks
// that the test left nothing behind.
func everywhere(t *testing.T, test func(t *testing.T, p place)) {
	ran := 0
	for _, binding := range slices.Sorted(maps(bindings())) {
		bind := bindings()[binding]
		for tr := tierUSM; tr <= tierBuffer; tr++ {
			if _, err := bind(); err != nil {
				absent(t, err.Error())
			}
			b := newBackend(bind)
			t.Setenv(memoryEnv, tr.String())
			infos, err := b.Devices(t.Context())
			if err != nil {
				absent(t, err.Error())
			}
			for i, info := range infos {
				if info.MemoryModel != tr.String() {
					continue
				}
				ran++
				t.Run(fmt.Sprintf("%s/%s/%d %s", binding, tr, i, strings.ReplaceAll(info.Model, "/", "-")), func(t *testing.T) {
					held := &balance{held: map[string]int{}}
					b := newBackend(func() (*table, error) {
						inner, err := bind()
						if err != nil {
							return nil, err
						}
						return counted(inner, held), nil
					})
					d, err := b.Open(t.Context(), i)
					if err != nil {
						t.Fatal(err)
					}
					p := place{d.(*device), b, i, binding}
					test(t, p)
					if err := d.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
					if left := held.String(); left != "" && !t.Failed() {
						t.Errorf("the test left objects behind: %s", left)
					}
					if n := eventDone().Outstanding(); n != 0 {
						t.Errorf("%d callbacks are outstanding", n)
					}
				})
			}
		}
	}
	if ran == 0 {
		absent(t, "no platform has a device")
	}
}

func maps[K comparable, V any](m map[K]V) func(yield func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// need skips the rest of a test on a device that lacks a capability. What the test has open is given back with its device.
func need(t testing.TB, d *device, c driver.Caps) {
	t.Helper()
	if lacks := c &^ d.info.Caps; lacks != 0 {
		t.Skipf("the device lacks: %s", lacks)
	}
}

// The helpers below fail the test on an error.

func newStream(t testing.TB, p place) *stream {
	t.Helper()
	s, err := p.NewStream(driver.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*stream)
}

func newEvent(t testing.TB, p place, timing bool) *event {
	t.Helper()
	e, err := p.NewEvent(driver.EventOptions{Timing: timing})
	if err != nil {
		t.Fatal(err)
	}
	return e.(*event)
}

func alloc(t testing.TB, p place, kind driver.Kind, size uint64) *memory {
	t.Helper()
	m, err := p.Alloc(kind, size, 0)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*memory)
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantKind(t testing.TB, err, kind error) {
	t.Helper()
	e, isError := err.(*driver.Error)
	if !isError || e.Kind != kind {
		t.Fatalf("error %v, want one of kind %q", err, kind)
	}
}

func wantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in:\n%s", w, text)
		}
	}
}

func whole(m driver.Memory) driver.Region { return driver.Region{Mem: m, Len: m.Size()} }

func part(m driver.Memory, off, n uint64) driver.Region {
	return driver.Region{Mem: m, Off: off, Len: n}
}

// ramp returns n bytes that depend on the seed.
func ramp(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7) + seed
	}
	return b
}

func write(t testing.TB, s *stream, dst driver.Region, src []byte) {
	t.Helper()
	ok(t, s.CopyIn(dst, unsafe.Pointer(&src[0])))
	ok(t, s.Sync())
}

func read(t testing.TB, s *stream, src driver.Region) []byte {
	t.Helper()
	dst := make([]byte, src.Len)
	ok(t, s.CopyOut(unsafe.Pointer(&dst[0]), src))
	ok(t, s.Sync())
	return dst
}

func same(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d bytes, want %d", what, len(got), len(want))
	}
	if bytes.Equal(got, want) {
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: byte %d is %#x, want %#x", what, i, got[i], want[i])
		}
	}
}

func kinds(p place) []driver.Kind {
	k := []driver.Kind{driver.KindDevice, driver.KindHost}
	if p.info.Caps.Has(driver.CapShared) {
		k = append(k, driver.KindShared)
	}
	return k
}

func closeAll(t testing.TB, objects ...any) {
	t.Helper()
	for _, o := range objects {
		switch o := o.(type) {
		case interface{ Close() error }:
			ok(t, o.Close())
		case driver.Memory:
			ok(t, o.Free())
		default:
			t.Fatalf("%T cannot be closed", o)
		}
	}
}
