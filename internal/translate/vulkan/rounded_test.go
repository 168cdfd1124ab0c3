//go:build vulkan

package vulkan

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends/vulkan"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/load"
	"github.com/go-halyard/halyard/internal/translate/spirv"
)

// roundedText has a quotient and a root for each thread.
const roundedText = `package p

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

//halyard:kernel
func rounded(t grid.Thread, x, y, quotient, root []float32) {
	if i := t.Global(0); i < len(x) {
		quotient[i] = x[i] / y[i]
		root[i] = float32(math.Sqrt(float64(x[i])))
	}
}
`

// wrongText returns what the driver gives with an error of so many units in the last place.
const wrongText = `
func wrong(x float32) float32 {
	if x != 0 {
		x = math.Float32frombits(math.Float32bits(x) + uint32(%d&0xffffffff))
	}
	return x
}
`

// Quotients and roots of float32 are those of Go on each device, also where a driver's own are wrong by several units in the last place.
func TestRoundedQuotientsAndRoots(t *testing.T) {
	x, y := roundedInputs(1 << 20)
	p := rounding(t)
	same := func(text string) string { return text }
	t.Run("the driver's, if they are known to be right", func(t *testing.T) { roundedOn(t, p, same, x, y) })
	t.Setenv("HALYARD_VULKAN_WITHOUT", "roundedDivision")
	t.Run("the driver's, corrected", func(t *testing.T) { roundedOn(t, p, same, x, y) })
	body := regexp.MustCompile(`func fma32.*\{.*\}`)
	for _, off := range []int{-30, -3, -2, -1, 0, 1, 2, 3, 30} {
		for name, fma32 := range map[string]string{"off by %d": "$0", "fused, off by %d": fusedText, "not fused, off by %d": "func fma32(x, y, z float32) float32 { return x*y + z }"} {
			t.Run(fmt.Sprintf(name, off), func(t *testing.T) {
				roundedOn(t, p, func(text string) string {
					if !strings.Contains(text, "func Quotient32") {
						return text
					}
					for _, own := range []string{"1 / v", "float32(math.Sqrt(float64(x)))", "1/(z+z)", "1 / float32(int32(q))", "float32(math.Sqrt(float64(float32(int32(p)) * 8388608)))", "float32(r) / float32(2*z)"} {
						require.Contains(t, text, own)
						text = strings.Replace(text, own, "wrong("+own+")", 1)
					}
					require.Regexp(t, body, text)
					return body.ReplaceAllString(text, fma32) + fmt.Sprintf(wrongText, off)
				}, x, y)
			})
		}
	}
}

// fusedText is a product and sum that is rounded once, on devices whose own is not. It computes both in float64, where the product is exact, and rounds the sum to
// odd, so that the conversion to float32 rounds as if it were the first to do so.
const fusedText = `func fma32(x, y, z float32) float32 {
	p, w := float64(x)*float64(y), float64(z)
	s := p + w
	b := s - p
	e, n := (p-(s-b))+(w-b), math.Float64bits(s)
	if e != 0 && n&1 == 0 {
		if (e > 0) == (s > 0) {
			n++
		} else {
			n--
		}
	}
	return float32(math.Float64frombits(n))
}`

// roundedInputs returns n pairs of numbers and some more: those at the borders of all kinds, random ones, and random ones that are
// subnormal, or whose quotient or root is subnormal, halfway between two numbers, or close to that.
func roundedInputs(n int) (x, y []float32) {
	var borders []uint32
	for _, b := range []uint32{0, 1, 2, 3, 5, 0x400000, 0x7fffff, 0x800000, 0x800001, 0xffffff, 0x1000000, 0x34000000, 0x3effffff,
		0x3f000000, 0x3f000001, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fffffff, 0x40000000, 0x40400000, 0x4b000000, 0x7e7fffff, 0x7e800000,
		0x7effffff, 0x7f000000, 0x7f7ffffe, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000} {
		borders = append(borders, b, b|1<<31)
	}
	for e := range uint32(24) {
		borders = append(borders, 1<<e, 3<<e, (e+1)<<23, (e+230)<<23)
	}
	for _, a := range borders {
		for _, b := range borders {
			x, y = append(x, math.Float32frombits(a)), append(y, math.Float32frombits(b))
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		a, b := math.Float32frombits(rng.Uint32()), math.Float32frombits(rng.Uint32())
		power := float32(math.Ldexp(1, rng.IntN(60)-30))
		odd := float64(1<<24+rng.IntN(1<<24)|1) / 2 // halfway between two numbers
		switch i % 6 {
		case 1: // a subnormal quotient
			a, b = float32(math.Ldexp(float64(1+rng.IntN(1<<24)), rng.IntN(30)-140)), float32(math.Ldexp(float64(1+rng.IntN(1<<24)), 10))
		case 2: // the same, often halfway
			a, b = float32(math.Ldexp(float64(rng.IntN(1<<10)), -110)), float32(math.Ldexp(1, 37+rng.IntN(12)))
		case 3:
			b = float32(1 + rng.IntN(1<<24))
			a = float32(odd*float64(b)) * power
		case 4:
			a = float32(odd*odd) * power * power
		case 5: // a subnormal number
			a = math.Float32frombits(rng.Uint32() % (1 << 23))
		}
		x, y = append(x, a), append(y, b)
	}
	nearHalf(1<<14, func(a, b float32) { x, y = append(x, a), append(y, b) })
	return x, y
}

// rounding returns a package with the kernel.
func rounding(t *testing.T) *load.Package {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	dir, err := os.MkdirTemp(root, "rounding") // in this module, whose packages it imports
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "k.go"), []byte(roundedText), 0o600))
	packages, err := load.Load(t.Context(), dir, ".")
	require.NoError(t, err)
	return packages[0]
}

// roundedOn compares quotients and roots on each device of Vulkan with those of Go.
func roundedOn(t *testing.T, p *load.Package, changed func(text string) string, x, y []float32) {
	lacking, err := built(changed)
	require.NoError(t, err)
	program, err := build.Program(p)
	require.NoError(t, err)
	made := modules(program, program.Functions[0], spirv.Options{Entry: "k_rounded", Lacking: lacking})
	var code []byte
	for _, w := range made.Plain.Words() {
		code = binary.NativeEndian.AppendUint32(code, w)
	}
	infos, err := hal.Devices(t.Context()) // an error if there is none
	ran := false
	for _, info := range infos {
		if info.Backend == "vulkan" && !info.Compute.NoInt64 {
			ran = true
			roundedOnDevice(t, info.Name(), code, x, y)
		}
	}
	if !ran && strings.Contains(os.Getenv("HALYARD_REQUIRE"), "vulkan") {
		t.Fatal("HALYARD_REQUIRE asks for Vulkan, and there is no such device", err)
	} else if !ran {
		t.Skip("there is no device of Vulkan to compare with: ", err)
	}
}

func roundedOnDevice(t *testing.T, name string, code []byte, x, y []float32) {
	ctx, n := t.Context(), len(x)
	dev, err := hal.Open(ctx, name)
	require.NoError(t, err)
	s, err := dev.NewStream()
	require.NoError(t, err)
	m, err := dev.Load(hal.Image{Format: hal.FormatVulkan, Data: code})
	require.NoError(t, err)
	k, err := m.Kernel("k_rounded")
	require.NoError(t, err)
	bytes := func(v []float32) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 4*len(v)) }
	quotient, root := make([]float32, n), make([]float32, n)
	var args []hal.Arg
	var mems []*hal.Memory
	for _, v := range [][]float32{x, y, quotient, root} {
		mem, err := dev.Alloc(hal.KindDevice, uint64(4*n), 0)
		require.NoError(t, err)
		require.NoError(t, s.CopyIn(mem.All(), bytes(v)))
		mems, args = append(mems, mem), append(args, hal.At(mem.All()), hal.Value(int64(n)))
	}
	require.NoError(t, s.Launch(k, hal.Over(n), args...))
	require.NoError(t, s.CopyOut(bytes(quotient), mems[2].All()))
	require.NoError(t, s.CopyOut(bytes(root), mems[3].All()))
	require.NoError(t, s.Sync(ctx))
	wrong := 0
	compare := func(what string, i int, got, want float32) {
		a, b := math.Float32bits(got), math.Float32bits(want)
		if a == b || got != got && want != want {
			return
		}
		if wrong++; wrong <= 10 {
			t.Errorf("%s of %g and %g is %g (%#x) on %s; in Go it is %g (%#x)", what, x[i], y[i], got, a, name, want, b)
		}
	}
	for i := range n {
		compare("the quotient", i, quotient[i], x[i]/y[i])
		compare("the root of the first", i, root[i], float32(math.Sqrt(float64(x[i]))))
	}
	t.Logf("%s: %d of %d results are wrong", name, wrong, 2*n)
	for _, mem := range mems {
		require.NoError(t, mem.Close())
	}
	require.NoError(t, m.Close())
	require.NoError(t, s.Close())
	require.NoError(t, dev.Close())
}
