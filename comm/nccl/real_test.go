package nccl

import (
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/internal/dl"
)

// realLibrary loads the vendor's library that the environment names, or skips the test.
func realLibrary(t *testing.T) *library {
	t.Helper()
	name := os.Getenv(EnvLibrary)
	if name == "" {
		t.Skip(EnvLibrary, " names no library")
	}
	found, err := dl.Open("", name)
	require.NoError(t, err)
	if found.Proc("halyard_sim_nccl_reap").Valid() {
		t.Skip(EnvLibrary, " names the simulated library")
	}
	backend := "cuda"
	if found.Proc("hipSetDevice").Valid() {
		backend = "hip"
	}
	l, err := load("test", backend)
	require.NoError(t, err)
	t.Logf("version %s, %s", versionText(l.version), l.path)
	return l
}

// Without a device the library loads, makes ids, and refuses a communicator with an error that has its kind, its code and its text, whether the id travels
// by address or by value.
func TestRealLibraryWithoutADevice(t *testing.T) {
	l := realLibrary(t)
	one, err := l.newID("test")
	require.NoError(t, err)
	two, err := l.newID("test")
	require.NoError(t, err)
	require.NotEqual(t, one, two)
	require.NotEqual(t, ID{}, one)
	if devices(t) > 0 {
		t.Skip("there is a device")
	}
	byValue := *l
	byValue.call.InitRankScalable = 0
	for _, lib := range []*library{l, &byValue} {
		if lib == &byValue && !lib.call.InitRankConfig.Valid() {
			continue
		}
		c := &Comm{lib: lib, size: 1, gone: make(chan struct{})}
		runtime.LockOSThread()
		err := c.begin("test", one)
		runtime.UnlockOSThread()
		if err == nil {
			err = c.settle(t.Context(), "test", "ncclCommInitRank", -1, 0)
		}
		var e *comm.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, comm.ErrEngine, e.Kind)
		require.EqualValues(t, unhandledCUDA, e.Code)
		require.NotEmpty(t, e.Text)
		t.Log(e)
	}
	for code := range int32(9) {
		require.NotEmpty(t, dl.GoString(l.call.GetErrorString.Call1(uintptr(code))))
	}
}

// devices asks NVIDIA's driver how many there are.
func devices(t *testing.T) int {
	t.Helper()
	lib, err := dl.Open("", "libcuda.so.1")
	if err != nil {
		return 0
	}
	var n int32
	if lib.Proc("cuInit").Call1(0) != 0 || lib.Proc("cuDeviceGetCount").Call1(uintptr(unsafe.Pointer(&n))) != 0 {
		return 0
	}
	return int(n)
}
