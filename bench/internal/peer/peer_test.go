package peer

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

// guarded is n bytes with eight more on both sides, which must stay as they are.
func guarded(n int) (all, inside []byte) {
	all = bytes.Repeat([]byte{0xee}, n+16)
	return all, all[8 : 8+n]
}

func TestHostMovesBytes(t *testing.T) {
	h := Host()
	require.NoError(t, h.Enter())
	for _, n := range []int{4, 64, 4096, fillChunk - 4, fillChunk, fillChunk + 4, 100_000} {
		src := make([]byte, n)
		for i := range src {
			src[i] = byte(i) ^ byte(i>>8)
		}
		for name, copy := range map[string]func(dst []byte) error{
			"in":   func(dst []byte) error { return h.CopyIn(pintest.Slice(t, dst), unsafe.Pointer(&src[0]), uint64(n)) },
			"out":  func(dst []byte) error { return h.CopyOut(unsafe.Pointer(&dst[0]), pintest.Slice(t, src), uint64(n)) },
			"copy": func(dst []byte) error { return h.Copy(pintest.Slice(t, dst), pintest.Slice(t, src), uint64(n)) },
			"across": func(dst []byte) error {
				op, calls := Across(h, Host(), false, pintest.Slice(t, dst), pintest.Slice(t, src), nil, uint64(n))
				assert.Equal(t, "copy", calls)
				return op()
			},
		} {
			all, dst := guarded(n)
			require.NoError(t, copy(dst))
			assert.Equal(t, src, dst, name)
			assert.Equal(t, bytes.Repeat([]byte{0xee}, 8), all[:8])
			assert.Equal(t, bytes.Repeat([]byte{0xee}, 8), all[8+n:])
		}
		all, dst := guarded(n)
		require.NoError(t, h.Fill(pintest.Slice(t, dst), 0x04030201, uint64(n)))
		assert.Equal(t, bytes.Repeat([]byte{1, 2, 3, 4}, n/4), dst, "%d", n)
		assert.Equal(t, bytes.Repeat([]byte{0xee}, 8), all[:8])
		assert.Equal(t, bytes.Repeat([]byte{0xee}, 8), all[8+n:])
	}
	for _, call := range []func() error{h.Sync, h.Record, h.RecordWait, func() error { return h.AllocFree(100) }, h.Leave, h.Close} {
		require.NoError(t, call())
	}
	assert.Len(t, h.(*host).kept, 100, "what is allocated is not optimized away")
	assert.Equal(t, "make", h.Names(AllocFree))
}

func TestLockedShowsItsData(t *testing.T) {
	n := 0
	require.NoError(t, NewLocked(7).View(func(s []float32) error { n = len(s); return nil }))
	assert.Equal(t, 7, n)
	assert.ErrorIs(t, NewLocked(1).View(func([]float32) error { return driver.ErrBusy }), driver.ErrBusy)
}

// A driver that is not there is an error that says where it was looked for.
func TestMissingDrivers(t *testing.T) {
	for env, open := range map[string]func() (Peer, error){
		"HALYARD_CUDA_LIBRARY":   func() (Peer, error) { return CUDA(0) },
		"HALYARD_HIP_LIBRARY":    func() (Peer, error) { return HIP(0) },
		"HALYARD_OPENCL_LIBRARY": func() (Peer, error) { return OpenCL(0, "usm", true) },
	} {
		t.Setenv(env, "/no/such/library.so")
		p, err := open()
		assert.Nil(t, p)
		require.ErrorIs(t, err, driver.ErrUnavailable, env)
		assert.Contains(t, err.Error(), "/no/such/library.so")
	}
}

func TestStatusIsAnError(t *testing.T) {
	require.NoError(t, status("call", 0))
	assert.EqualError(t, status("cuMemAlloc", 2), "cuMemAlloc: status 2")
	// What lies above the 32 bits of a status means nothing.
	high := ^uintptr(0)
	high = high << 16 << 16
	require.NoError(t, status("call", high))
	assert.EqualError(t, status("clFinish", uintptr(uint32(0xffffffde))|high), "clFinish: status -34")
}
