//go:build cgo

package dl_test

import (
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/testing/cgobench"
)

func TestArgumentsArriveInOrder(t *testing.T) {
	p := dl.ProcAt(cgobench.Sum7())
	const want = 1 + 2*10 + 3*100 + 4*1000 + 5*10000 + 6*100000 + 7*1000000
	if got := p.Call7(1, 10, 100, 1000, 10000, 100000, 1000000); got != want {
		t.Errorf("loaded: got %d, want %d", got, want)
	}
	if got := cgobench.Call7(cgobench.Sum7(), 1, 10, 100, 1000, 10000, 100000, 1000000); got != want {
		t.Errorf("cgo: got %d, want %d", got, want)
	}
}

// The same C function with seven arguments, by each way there is.
func BenchmarkCall7(b *testing.B) {
	fn := cgobench.Sum7()
	b.Run("dl", func(b *testing.B) {
		b.ReportAllocs()
		p := dl.ProcAt(fn)
		for b.Loop() {
			p.Call7(1, 2, 3, 4, 5, 6, 7)
		}
	})
	b.Run("dl/words", func(b *testing.B) {
		b.ReportAllocs()
		p := dl.ProcAt(fn)
		for b.Loop() {
			w := dl.GetWords()
			p.Call7(w.At(0), w.At(1), w.At(2), w.At(3), w.At(4), w.At(5), w.At(6))
			w.Put()
		}
	})
	b.Run("cgo", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			cgobench.Call7(fn, 1, 2, 3, 4, 5, 6, 7)
		}
	})
	b.Run("cgo/pointers", func(b *testing.B) {
		b.ReportAllocs()
		p := unsafe.Pointer(new([8]uint64))
		for b.Loop() {
			cgobench.Call7Pointers(fn, p, p, p, p, p, p, p)
		}
	})
}
