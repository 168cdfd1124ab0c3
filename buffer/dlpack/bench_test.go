package dlpack_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/dlpack"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/testing/dlpacktest"
)

// BenchmarkExport lends a tensor and has its deleter called, from Go and by C. The size is of no matter: nothing is
// copied. Beside it stands what a lease alone costs.
func BenchmarkExport(b *testing.B) {
	x, err := buffer.New[float32](1 << 20)
	require.NoError(b, err)
	defer x.Close()
	a, err := array.FromBuffer(x, 1<<10, 1<<10)
	require.NoError(b, err)
	a, err = a.Transpose()
	require.NoError(b, err)
	b.Run("lease", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			lease, err := x.AcquireHost(ctx, coherence.Read)
			if err != nil || lease.Release() != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("buffer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m, err := dlpack.Export(ctx, x)
			if err != nil || m.Delete() != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("array", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m, err := dlpack.ExportArray(ctx, a)
			if err != nil || m.Delete() != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("deleted by C", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m, err := dlpack.Export(ctx, x)
			if err != nil {
				b.Fatal(err)
			}
			deleter := *(*uintptr)(unsafe.Add(pointer(m.Address), 16))
			dl.ProcAt(deleter).Call1(m.Address)
		}
	})
}

// BenchmarkImport takes a tensor of C's and closes it again; the tensor is made anew for each, which is timed alone
// as well.
func BenchmarkImport(b *testing.B) {
	peer := dlpacktest.Load(b)
	shape, deleted := [1]int64{1024}, new(uint64)
	produce := func() dlpack.Managed {
		return dlpack.Managed{Legacy: true, Address: peer.Make.Call8(1, 1, uintptr(unsafe.Pointer(&shape)), 0, 0, 0, 1,
			uintptr(unsafe.Pointer(deleted)))}
	}
	b.Run("producer alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := produce().Delete(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("import and close", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x, _, err := dlpack.Import[int32](ctx, produce())
			if err != nil || x.Close() != nil {
				b.Fatal(err)
			}
		}
	})
}
