//go:build vulkan

package vulkan

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// spy stands between the backend and the driver. It counts the objects that exist and the calls that can fail, and makes one fail.
type spy struct {
	mu    sync.Mutex
	held  map[string]int // objects, by kind
	calls uint64

	failAt uint64 // the number of the call that fails, or 0
	with   status
	only   string // if it is not "", calls with other names are not counted
	failed []string
}

// newSpied returns a backend of its own whose calls a spy sees.
func newSpied(t testing.TB) (*backend, *spy) {
	t.Helper()
	s := &spy{held: map[string]int{}}
	b := newBackend(func() (*table, error) {
		t, err := loadTable()
		if err == nil {
			s.watch(reflect.ValueOf(t).Elem())
			t.wrapped = func(d *deviceTable) { s.watch(reflect.ValueOf(d).Elem()) }
		}
		return t, err
	})
	return b, s
}

// with returns a backend with options and instances of its own.
func (b *backend) with(o options) *backend {
	v := newBackend(b.bind)
	v.opts = o
	return v
}

// The calls that make something, and those that destroy it.
var makes = map[string]string{"createDevice": "device", "allocateMemory": "memory", "createBuffer": "buffer",
	"createCommandPool": "command pool", "createQueryPool": "query pool", "createSemaphore": "semaphore",
	"createShader": "shader", "createLayout": "layout", "createPipeline": "pipeline", "createPipelineCache": "pipeline cache"}
var destroys = map[string]string{"destroyDevice": "device", "freeMemory": "memory", "destroyBuffer": "buffer",
	"destroyCommandPool": "command pool", "destroyQueryPool": "query pool", "destroySemaphore": "semaphore",
	"destroyShader": "shader", "destroyLayout": "layout", "destroyPipeline": "pipeline", "destroyPipelineCache": "pipeline cache"}

// chainedStatus are the calls of a chain that can fail.
var chainedStatus = map[string]string{"beginCommandBuffer": "vkBeginCommandBuffer", "endCommandBuffer": "vkEndCommandBuffer",
	"submit": "vkQueueSubmit"}

// watch wraps the functions of a table.
func (s *spy) watch(table reflect.Value) {
	for i := range table.NumField() {
		name := table.Type().Field(i).Name
		f := table.Field(i)
		if f.Kind() != reflect.Func || f.IsNil() || name == "wrapped" {
			continue
		}
		// The fields are not exported, so they are reached by address.
		f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
		inner := reflect.ValueOf(f.Interface())
		fails := f.Type().NumOut() > 0 && f.Type().Out(f.Type().NumOut()-1) == reflect.TypeFor[status]()
		f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			if len(args) > 0 {
				if c, ok := args[0].Interface().(*dl.Chain); ok {
					if st := s.before(name, chainedStatus[name] != ""); st != success {
						c.Go(chainedStatus[name], func() int32 { return int32(st) })
						return nil
					}
					return inner.Call(args)
				}
			}
			if st := s.before(name, fails); st != success {
				results := make([]reflect.Value, f.Type().NumOut())
				for j := range results {
					results[j] = reflect.Zero(f.Type().Out(j))
				}
				results[len(results)-1] = reflect.ValueOf(st)
				return results
			}
			results := inner.Call(args)
			if !fails || results[len(results)-1].Int() == int64(success) {
				s.after(name)
			}
			return results
		}))
	}
}

func (s *spy) before(name string, fails bool) status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !fails || s.only != "" && s.only != name {
		return success
	}
	if s.calls++; s.calls == s.failAt {
		s.failed = append(s.failed, name)
		return s.with
	}
	return success
}

func (s *spy) after(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind, ok := makes[name]; ok {
		s.held[kind]++
	}
	if kind, ok := destroys[name]; ok {
		s.held[kind]--
	}
}

// left says what exists, or "".
func (s *spy) left() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(s.held)) {
		if s.held[kind] != 0 {
			all = append(all, fmt.Sprintf("%d × %s", s.held[kind], kind))
		}
	}
	return strings.Join(all, ", ")
}

func (s *spy) devices() int { return s.count("device") }

// fail makes the n-th call from now on fail: of the calls named only, or of all.
func (s *spy) fail(n uint64, with status, only string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.only = only
	s.failAt, s.with, s.failed = s.calls+n, with, nil
}

// unknown is VK_ERROR_UNKNOWN. Package hal tries again after an error for want of memory.
const unknown status = -13

// CallCount, FailCall, LoseDevice and Reset are what the suite wants of a conformance.FaultControl.
func (s *spy) CallCount() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *spy) FailCall(n uint64)   { s.fail(n, unknown, "") }
func (s *spy) LoseDevice(n uint64) { s.fail(n, deviceLost, "") }

func (s *spy) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.failAt, s.only, s.failed = 0, 0, "", nil
}

// required reports whether the environment asks for Vulkan devices rather than a skip.
func required() bool {
	return slices.Contains(strings.FieldsFunc(os.Getenv("HALYARD_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' }), backendName)
}

// everyModel runs a test on each device, in each memory model that it has, and sees that nothing is left behind.
func everyModel(t *testing.T, test func(t *testing.T, p at)) {
	t.Helper()
	cards := false // the devices of the model before have memory of their own, and no other model
	for _, model := range []string{modelDiscrete, modelUnified} {
		b, s := newSpied(t)
		v := b.with(options{Memory: model})
		infos, err := v.Devices(t.Context())
		if err != nil {
			if cards {
				continue
			}
			if required() {
				t.Fatalf("HALYARD_REQUIRE asks for Vulkan, but %v", err)
			}
			t.Skipf("no Vulkan device: %v", err)
		}
		cards = !slices.ContainsFunc(infos, func(i driver.Info) bool { return i.Simulated })
		for i, info := range infos {
			t.Run(model+"/"+strings.ReplaceAll(info.Model, "/", "-"), func(t *testing.T) {
				t.Cleanup(func() { // the last, when what the test has made is closed
					s.Reset()
					if left := s.left(); left != "" {
						t.Errorf("left behind: %s", left)
					}
				})
				test(t, at{v, s, i, info})
			})
		}
	}
}

// at is a device in a memory model.
type at struct {
	*backend
	spy     *spy
	ordinal int
	info    driver.Info
}

// open opens the device, until the test ends.
func (p at) open(t testing.TB) *device {
	t.Helper()
	d, err := p.Open(t.Context(), p.ordinal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d.(*device)
}

// count returns how many objects of a kind exist.
func (s *spy) count(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[kind]
}
