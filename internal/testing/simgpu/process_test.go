package simgpu

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/testing/emulator"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

// openToken passes the 64 bytes of the token by value: on amd64 they lie on the
// stack, behind six register arguments of which two count.
func openToken(v *vendor, out *uintptr, token *[8]uint64) int {
	args := []uintptr{pintest.Address(v.t, out), 1, 0, 0, 0, 0}
	for _, w := range token {
		args = append(args, uintptr(w))
	}
	code := v.call(v.pick("cuIpcOpenMemHandle_v2", "hipIpcOpenMemHandle"), args...)
	return code
}

// failure takes the place of a test in a child process, which has none.
type failure struct{ testing.TB }

func (failure) Helper()                   {}
func (failure) Cleanup(func())            {} // the process ends
func (failure) FailNow()                  { os.Exit(3) }
func (failure) Errorf(f string, a ...any) { fmt.Printf(f+"\n", a...) }
func (failure) Fatal(a ...any)            { fmt.Println(a...); os.Exit(3) }
func (failure) Fatalf(f string, a ...any) { fmt.Printf(f+"\n", a...); os.Exit(3) }

// importChild is the other process of TestSharedBetweenProcesses: it opens the
// memory twice, checks what is in it, and writes.
func importChild() int {
	runtime.LockOSThread()
	words := strings.Split(os.Getenv("SIMGPU_TEST_IMPORT"), "|")
	v := newVendor(failure{}, words[0], words[1])
	v.begin(7)
	raw, err := hex.DecodeString(words[2])
	require.NoError(v.t, err)
	var token [8]uint64
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&token)), 64), raw)
	var p, again uintptr
	require.Zero(v.t, openToken(v, &p, &token))
	require.Zero(v.t, openToken(v, &again, &token))
	require.Equal(v.t, p, again)
	s := v.stream()
	got := make([]byte, 3000)
	require.Zero(v.t, v.d2h(got, p, s))
	require.Equal(v.t, pattern(3000, 1), got)
	require.Zero(v.t, v.h2d(p+1000, pattern(1000, 2), s))
	require.NotZero(v.t, v.fill(p, 1, 3001, s))
	v.violates("out of bounds")
	require.NotZero(v.t, v.tryFree(p))
	v.violates("imported")
	require.Zero(v.t, v.sync(s))
	v.ok(v.pick("cuIpcCloseMemHandle", "hipIpcCloseMemHandle"), p)
	require.Zero(v.t, v.fill(p, byte(pattern(1, 1)[0]), 1, s), "open once more")
	require.Zero(v.t, v.sync(s))
	v.ok(v.pick("cuIpcCloseMemHandle", "hipIpcCloseMemHandle"), p)
	v.silent()
	require.NotZero(v.t, v.fill(p, 1, 1, s))
	token[0]++
	require.Equal(v.t, 400, openToken(v, &p, &token))
	fmt.Println("imported")
	return 0
}

func TestSharedBetweenProcesses(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the call passes a structure by value, which this test knows for amd64 only")
	}
	eachVendor(t, func(t *testing.T, v *vendor) {
		a, s := v.alloc(3000), v.stream()
		require.Zero(t, v.h2d(a, pattern(3000, 1), s))
		require.Zero(t, v.sync(s))
		var token [8]uint64
		v.ok(v.pick("cuIpcGetMemHandle", "hipIpcGetMemHandle"), uintptr(unsafe.Pointer(&token)), a+100)
		var p uintptr
		require.Equal(t, 201, openToken(v, &p, &token), "not in the process that exported it")

		child := emulator.Command(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), fmt.Sprintf("SIMGPU_TEST_IMPORT=%s|%s|%x", v.face, v.path,
			unsafe.Slice((*byte)(unsafe.Pointer(&token)), 64)))
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, "imported\n", string(out))
		got := make([]byte, 3000)
		require.Zero(t, v.d2h(got, a, s))
		want := pattern(3000, 1)
		copy(want[1000:], pattern(1000, 2))
		require.True(t, bytes.Equal(want, got))

		b, code := v.allocAsync(100, s)
		require.Zero(t, code)
		require.Equal(t, 1, v.call(v.pick("cuIpcGetMemHandle", "hipIpcGetMemHandle"), uintptr(unsafe.Pointer(&token)), b))
		v.violates("stream-ordered")
	})
}

// environmentChild reports what the environment made of the CUDA simulation.
func environmentChild() int {
	runtime.LockOSThread()
	v := newVendor(failure{}, "CUDA", os.Getenv("SIMGPU_TEST_ENVIRONMENT"))
	v.ok("cuInit", 0)
	var n, value int32
	v.ok("cuDeviceGetCount", uintptr(unsafe.Pointer(&n)))
	var ctx, total uintptr
	v.ok("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&ctx)), 0)
	v.ctxs = []uintptr{ctx}
	v.ok("cuDeviceTotalMem_v2", uintptr(unsafe.Pointer(&total)), 0)
	v.ok("cuDeviceGetAttribute", uintptr(unsafe.Pointer(&value)), 115, 0)
	v.use(0)
	a, _ := v.tryAlloc(10) // the 7th call
	b, second := v.tryAlloc(10)
	_, third := v.tryAlloc(10)
	_, fourth := v.tryAlloc(10)
	fmt.Println(n, total, value, a != 0, b, second, third, fourth)
	return 0
}

func TestEnvironment(t *testing.T) {
	cuda, _ := libraries(t)
	child := emulator.Command(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), "SIMGPU_TEST_ENVIRONMENT="+cuda, "HALYARD_SIM_DEVICES=5", "HALYARD_SIM_MEMORY=4096",
		"HALYARD_SIM_WITHOUT=peer,pools", "HALYARD_SIM_FAIL_ALLOC=2", "HALYARD_SIM_FAIL_CALL=9:999", "HALYARD_SIM_STICKY=10:700", "HALYARD_SIM_SEED=4")
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "5 4096 0 true 0 2 999 700\n", string(out))
}

func TestMain(m *testing.M) {
	switch {
	case os.Getenv("SIMGPU_TEST_IMPORT") != "":
		os.Exit(importChild())
	case os.Getenv("SIMGPU_TEST_ENVIRONMENT") != "":
		os.Exit(environmentChild())
	}
	os.Exit(m.Run())
}
