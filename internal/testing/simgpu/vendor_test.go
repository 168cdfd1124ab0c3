package simgpu

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

// simCache is the folder of the module that keeps what is built.
var simCache = filepath.Join("..", "..", "..", ".cache", "sim")

var built struct {
	sync.Once
	cuda, hip string
	err       error
}

// libraries builds the simulated drivers once, in the module's cache folder.
func libraries(t testing.TB) (cuda, hip string) {
	t.Helper()
	built.Do(func() {
		built.cuda, built.hip, built.err = Build(simCache)
	})
	if errors.Is(built.err, ErrNoCompiler) || errors.Is(built.err, ErrNotLinux) {
		t.Skip("the simulated drivers cannot be built here: ", built.err)
	}
	require.NoError(t, built.err)
	return built.cuda, built.hip
}

// vendor is one face seen through its raw binary interface, with names that both
// share. Methods that end in a number return the vendor's status.
type vendor struct {
	*Control
	t    testing.TB
	face string
	path string
	lib  *dl.Library
	mu   sync.Mutex
	fns  map[string]uintptr
	ctxs []uintptr // CUDA: contexts that setup retained
}

func newVendor(t testing.TB, face, path string) *vendor {
	t.Helper()
	c, err := Attach(path)
	require.NoError(t, err)
	lib, err := dl.Open("", path)
	require.NoError(t, err)
	return &vendor{Control: c, t: t, face: face, path: path, lib: lib, fns: map[string]uintptr{}}
}

// eachVendor runs a test on both faces, each from a fresh state.
func eachVendor(t *testing.T, test func(t *testing.T, v *vendor)) {
	cuda, hip := libraries(t)
	for _, f := range []struct{ face, path string }{{"CUDA", cuda}, {"HIP", hip}} {
		t.Run(f.face, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			v := newVendor(t, f.face, f.path)
			v.begin(0)
			test(t, v)
		})
	}
}

func (v *vendor) cuda() bool { return v.face == "CUDA" }

// begin resets the driver to a seed and makes device 0 current.
func (v *vendor) begin(seed uint64) {
	v.t.Helper()
	for s, n := range map[Setting]uint64{Devices: 2, Memory: 256 << 20, HostMemory: 1 << 30, Without: 0, Free: 0, Validate: 1, LinkRate: 0, Pageable: 0} {
		require.NoError(v.t, v.Set(s, n))
	}
	v.restart(seed)
}

// restart resets the driver without touching the settings.
func (v *vendor) restart(seed uint64) {
	v.t.Helper()
	require.NoError(v.t, v.Reset(seed))
	v.ctxs = nil
	if v.cuda() {
		v.ok("cuInit", 0)
		for d := range 2 {
			var ctx uintptr
			v.ok("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&ctx)), uintptr(d))
			v.ctxs = append(v.ctxs, ctx)
		}
	}
	v.use(0)
}

// end gives back what begin took.
func (v *vendor) end() {
	v.t.Helper()
	if v.cuda() {
		for d := range v.ctxs {
			v.ok("cuDevicePrimaryCtxRelease_v2", uintptr(d))
		}
		v.ctxs = nil
	}
}

func (v *vendor) symbol(name string) uintptr {
	v.mu.Lock()
	defer v.mu.Unlock()
	fn, found := v.fns[name]
	if !found {
		if fn = uintptr(v.lib.Proc(name)); fn == 0 {
			v.t.Fatalf("%s has no %s", v.path, name)
		}
		v.fns[name] = fn
	}
	return fn
}

//go:uintptrescapes
func (v *vendor) call(name string, args ...uintptr) int {
	return int(int32(invoke(v.symbol(name), args...)))
}

//go:uintptrescapes
func (v *vendor) ok(name string, args ...uintptr) {
	v.t.Helper()
	if code := v.call(name, args...); code != 0 {
		v.t.Fatalf("%s = %d; violations %q", name, code, v.Violations())
	}
}

// pick returns the vendor's own name of a call.
func (v *vendor) pick(cuda, hip string) string {
	if v.cuda() {
		return cuda
	}
	return hip
}

func (v *vendor) use(device int) {
	v.t.Helper()
	if v.cuda() {
		v.ok("cuCtxSetCurrent", v.ctxs[device])
	} else {
		v.ok("hipSetDevice", uintptr(device))
	}
}

func (v *vendor) alloc(n int) uintptr {
	v.t.Helper()
	p, code := v.tryAlloc(n)
	require.Zero(v.t, code)
	return p
}

func (v *vendor) tryAlloc(n int) (uintptr, int) {
	var p uintptr
	code := v.call(v.pick("cuMemAlloc_v2", "hipMalloc"), uintptr(unsafe.Pointer(&p)), uintptr(n))
	return p, code
}

func (v *vendor) tryFree(p uintptr) int { return v.call(v.pick("cuMemFree_v2", "hipFree"), p) }

func (v *vendor) free(p uintptr) {
	v.t.Helper()
	require.Zero(v.t, v.tryFree(p))
}

// pinned returns page-locked memory.
func (v *vendor) pinned(n int) []byte {
	v.t.Helper()
	var p unsafe.Pointer
	v.ok(v.pick("cuMemHostAlloc", "hipHostMalloc"), uintptr(unsafe.Pointer(&p)), uintptr(n), 1)
	return unsafe.Slice((*byte)(p), n)
}

func (v *vendor) managed(n int) []byte {
	v.t.Helper()
	var p unsafe.Pointer
	v.ok(v.pick("cuMemAllocManaged", "hipMallocManaged"), uintptr(unsafe.Pointer(&p)), uintptr(n), 1)
	return unsafe.Slice((*byte)(p), n)
}

func (v *vendor) unpin(b []byte) {
	v.t.Helper()
	v.ok(v.pick("cuMemFreeHost", "hipHostFree"), v.address(b))
}

func (v *vendor) stream() uintptr {
	v.t.Helper()
	var s uintptr
	v.ok(v.pick("cuStreamCreate", "hipStreamCreateWithFlags"), uintptr(unsafe.Pointer(&s)), 1)
	return s
}

func (v *vendor) endStream(s uintptr) {
	v.t.Helper()
	v.ok(v.pick("cuStreamDestroy_v2", "hipStreamDestroy"), s)
}

func (v *vendor) event(flags uintptr) uintptr {
	v.t.Helper()
	var e uintptr
	v.ok(v.pick("cuEventCreate", "hipEventCreateWithFlags"), uintptr(unsafe.Pointer(&e)), flags)
	return e
}

func (v *vendor) endEvent(e uintptr) {
	v.t.Helper()
	v.ok(v.pick("cuEventDestroy_v2", "hipEventDestroy"), e)
}

func (v *vendor) h2d(dst uintptr, src []byte, s uintptr) int {
	return v.call(v.pick("cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync"), dst, v.address(src), uintptr(len(src)), s)
}

func (v *vendor) d2h(dst []byte, src uintptr, s uintptr) int {
	return v.call(v.pick("cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync"), v.address(dst), src, uintptr(len(dst)), s)
}

func (v *vendor) d2d(dst, src uintptr, n int, s uintptr) int {
	return v.call(v.pick("cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync"), dst, src, uintptr(n), s)
}

func (v *vendor) fill(dst uintptr, b byte, n int, s uintptr) int {
	return v.call(v.pick("cuMemsetD8Async", "hipMemsetD8Async"), dst, uintptr(b), uintptr(n), s)
}

func (v *vendor) record(e, s uintptr) int {
	return v.call(v.pick("cuEventRecord", "hipEventRecord"), e, s)
}

func (v *vendor) wait(s, e uintptr) int {
	return v.call(v.pick("cuStreamWaitEvent", "hipStreamWaitEvent"), s, e, 0)
}

func (v *vendor) sync(s uintptr) int {
	return v.call(v.pick("cuStreamSynchronize", "hipStreamSynchronize"), s)
}

func (v *vendor) query(s uintptr) int { return v.call(v.pick("cuStreamQuery", "hipStreamQuery"), s) }

func (v *vendor) eventSync(e uintptr) int {
	return v.call(v.pick("cuEventSynchronize", "hipEventSynchronize"), e)
}

func (v *vendor) eventQuery(e uintptr) int {
	return v.call(v.pick("cuEventQuery", "hipEventQuery"), e)
}

// gate makes the stream wait until the word is 1.
func (v *vendor) gate(s uintptr, word []byte) int {
	if v.cuda() {
		return v.call("cuStreamWaitValue32_v2", s, v.address(word), 1, 0)
	}
	return v.call("hipStreamWaitValue32", s, v.address(word), 1, 0, 0xFFFFFFFF)
}

func (v *vendor) peerCopy(dst uintptr, dstDev int, src uintptr, srcDev, n int, s uintptr) int {
	if v.cuda() {
		return v.call("cuMemcpyPeerAsync", dst, v.ctxs[dstDev], src, v.ctxs[srcDev], uintptr(n), s)
	}
	return v.call("hipMemcpyPeerAsync", dst, uintptr(dstDev), src, uintptr(srcDev), uintptr(n), s)
}

func (v *vendor) allocAsync(n int, s uintptr) (uintptr, int) {
	var p uintptr
	code := v.call(v.pick("cuMemAllocAsync", "hipMallocAsync"), uintptr(unsafe.Pointer(&p)), uintptr(n), s)
	return p, code
}

func (v *vendor) freeAsync(p, s uintptr) int {
	return v.call(v.pick("cuMemFreeAsync", "hipFreeAsync"), p, s)
}

func (v *vendor) memInfo() (free, total uint64) {
	v.t.Helper()
	v.ok(v.pick("cuMemGetInfo_v2", "hipMemGetInfo"), uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	return free, total
}

// silent fails the test if the validator reported something.
func (v *vendor) silent() {
	v.t.Helper()
	require.Empty(v.t, v.Violations())
}

// violates fails the test unless exactly one violation was reported, with all the
// words, and forgets it.
func (v *vendor) violates(words ...string) {
	v.t.Helper()
	found := v.Violations()
	require.Len(v.t, found, 1)
	for _, w := range words {
		require.Contains(v.t, found[0], w)
	}
	require.Contains(v.t, found[0], "simulated "+v.face)
	v.Clear()
}

// invoke calls a C function. Pointers converted to uintptr in its argument list
// stay valid for the length of the call.
//
//go:uintptrescapes
func invoke(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// address is where a slice is until the test ends: copies go on after the call.
func (v *vendor) address(b []byte) uintptr { return pintest.Slice(v.t, b) }

func pattern(n int, salt byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7) + byte(i>>8)*3 + salt
	}
	return b
}

func hasLine(lines []string, words ...string) error {
	if slices.ContainsFunc(lines, func(l string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(l, w) })
	}) {
		return nil
	}
	return fmt.Errorf("no line with %q in %q", words, lines)
}
