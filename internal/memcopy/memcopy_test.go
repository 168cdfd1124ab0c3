package memcopy

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counting returns n bytes with a period of 251, so that a shift by a power of two shows.
func counting(n int, first byte) []byte {
	b := make([]byte, n)
	laid := min(n, 251)
	for i := range laid {
		b[i] = first + byte(i)
	}
	for laid < n {
		laid += copy(b[laid:], b[:laid])
	}
	return b
}

func differ(got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("byte %d of %d is %#x, want %#x", i, len(want), got[i], want[i])
		}
	}
	return nil
}

var sizes = []int{1, 3, 8, 63, 4097, 100_001, least - 1, least, least + 1, 3*least - 5, 5*least + 4097}

// Each size several times, so that every plan of the trials and the one that is chosen
// have their turn; the bytes beside the range stay.
func TestCopy(t *testing.T) {
	for _, size := range sizes {
		for round := range 30 {
			shift := round % 9
			src := counting(size+shift, byte(round))
			dst := counting(size+32, 100)
			expected := counting(size+32, 100)
			copy(expected[16:16+size], src[shift:])
			Copy(unsafe.Pointer(&dst[16]), unsafe.Pointer(&src[shift]), uint64(size))
			if err := differ(dst, expected); err != nil {
				t.Fatalf("%d bytes, round %d: %v", size, round, err)
			}
			if size < least && round == 9 {
				break
			}
		}
	}
}

func TestCopyNothing(t *testing.T) {
	b := counting(8, 1)
	Copy(unsafe.Pointer(&b[0]), unsafe.Pointer(&b[4]), 0)
	Fill(unsafe.Pointer(&b[0]), 0, 7, 1)
	if err := differ(b, counting(8, 1)); err != nil {
		t.Fatal(err)
	}
}

// Beyond twice the size of a trial the last class takes a range apart.
func TestCopyInTrials(t *testing.T) {
	// An odd number of trials, of which each copy has two: the plan is chosen
	// in the middle of one.
	c := class{from: least, open: true, plans: candidates(least, 2)[:3], rates: make([]float64, 3)}
	size := 5*trialSize/2 + 3
	src, dst := counting(size, 5), make([]byte, size)
	rounds := 0
	for c.settled.Load() == nil {
		clear(dst)
		c.copy(task{dst: unsafe.Pointer(&dst[0]), src: unsafe.Pointer(&src[0]), n: uint64(size)})
		if err := differ(dst, src); err != nil {
			t.Fatalf("round %d: %v", rounds, err)
		}
		if rounds++; rounds > 100 {
			t.Fatal("no plan was chosen")
		}
	}
	if trials := len(c.plans) * trialsPerPlan; c.tried != trials {
		t.Errorf("%d trials, want %d", c.tried, trials)
	}
	clear(dst)
	c.copy(task{dst: unsafe.Pointer(&dst[0]), src: unsafe.Pointer(&src[0]), n: uint64(size)})
	if err := differ(dst, src); err != nil {
		t.Fatal(err)
	}
}

func TestFill(t *testing.T) {
	const bits = 0x8877665544332211
	for _, size := range sizes {
		for _, width := range []int{1, 2, 4, 8} {
			for _, word := range []uint64{bits, 0} {
				dst, expected := counting(size+32, 9), counting(size+32, 9)
				for i := range min(size, width) {
					expected[13+i] = byte(word >> (8 * i))
				}
				for i := width; i < size; i *= 2 {
					copy(expected[13+i:13+size], expected[13:13+i])
				}
				Fill(unsafe.Pointer(&dst[13]), uint64(size), word, uint8(width))
				if err := differ(dst, expected); err != nil {
					t.Fatalf("%d bytes of %#x, width %d: %v", size, word, width, err)
				}
			}
		}
	}
}

// Every plan copies every byte, also with more goroutines than pieces.
func TestPlans(t *testing.T) {
	const size = 1<<20 + 13
	src := counting(size, 77)
	for _, p := range []Plan{one, {Piece: 8, Workers: 3}, {Piece: 4096, Workers: 1}, {Piece: 100_000, Workers: 2},
		{Piece: 1 << 20, Workers: 16}, {Piece: 1 << 30, Workers: 4}} {
		dst := make([]byte, size)
		p.run(task{dst: unsafe.Pointer(&dst[0]), src: unsafe.Pointer(&src[0]), n: size})
		if err := differ(dst, src); err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
	}
}

// Copies at the same time keep apart and together stay within the allowance.
func TestConcurrentCopies(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var users sync.WaitGroup
	for g := range 8 {
		users.Go(func() {
			src := counting(2<<20+g, byte(g))
			for round := range 20 {
				dst := make([]byte, len(src))
				p := Plan{Piece: 64 << 10, Workers: 2 + round%8}
				p.run(task{dst: unsafe.Pointer(&dst[0]), src: unsafe.Pointer(&src[0]), n: uint64(len(src))})
				if err := differ(dst, src); err != nil {
					t.Error(err)
				}
				if n := helpers.Load(); n > 3+8 { // 8 callers may be about to be refused
					t.Errorf("%d helpers on 4 processors", n)
				}
			}
		})
	}
	users.Wait()
}

func TestAllowance(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	for helpers.Load() != 0 { // those of earlier copies end soon
		runtime.Gosched()
	}
	granted := int32(0)
	for takeAllowance() {
		granted++
	}
	helpers.Add(-granted)
	if granted != 2 {
		t.Errorf("%d helpers on 3 processors, want 2", granted)
	}
}

func BenchmarkCopy4KiB(b *testing.B) {
	src, dst := make([]byte, 4096), make([]byte, 4096)
	b.ReportAllocs()
	b.SetBytes(4096)
	for b.Loop() {
		Copy(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), 4096)
	}
}

func BenchmarkFill(b *testing.B) {
	for _, size := range []int{64, 4096, 1 << 20, 64 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			dst := make([]byte, size)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				Fill(unsafe.Pointer(&dst[0]), uint64(size), 0x01020304, 4)
			}
		})
	}
}
