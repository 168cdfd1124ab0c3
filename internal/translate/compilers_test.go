package translate

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// agreed are lists of kernels that compilers were wrong about once, by the name of their test. All are one program in Go, which takes
// longer to build than to run; on a device each list is a program of its own.
var agreed = map[string]func() [][]text{
	"TestComplements":               complements,
	"TestLoopsThatSomeThreadsLeave": loopsThatSomeThreadsLeave,
	"TestFirstThreadOfABlock":       firstThreadOfABlock,
	"TestBranchAfterALoop":          branchAfterALoop,
	"TestOrderOfSums":               orderOfSums,
	"TestRoundsOneAfterTheOther":    roundsOneAfterTheOther,
	"TestZerosThatACompilerKnows":   zerosThatACompilerKnows,
	"TestUsesOfOneElementInOrder":   usesOfOneElementInOrder,
	"TestPlacesBeforeAssignments":   placesBeforeAssignments,
	"TestReturnsBeforeTheEnd":       returnsBeforeTheEnd,
	"TestExpressionsOfAnyDepth":     expressionsOfAnyDepth,
}

// agreement is what was found about these kernels.
var agreement struct {
	once    sync.Once
	kernels map[string][]text
	found   map[string][]found
	devices []string
}

// agree compares the kernels of a test on the host and on the devices.
func agree(t *testing.T) {
	t.Parallel()
	agreement.once.Do(func() {
		b := newBatch(t)
		b.compiler = plainly
		var apart [][]text
		names := slices.Sorted(maps.Keys(agreed))
		for _, name := range names {
			apart = append(apart, agreed[name]()...)
		}
		all, err := b.runApart(t.Context(), apart, nil)
		require.NoError(t, err)
		agreement.kernels, agreement.found, agreement.devices = map[string][]text{}, map[string][]found{}, b.devices
		for _, name := range names {
			kernels := slices.Concat(agreed[name]()...)
			agreement.kernels[name], agreement.found[name], all = kernels, all[:len(kernels)], all[len(kernels):]
		}
	})
	require.NotEmpty(t, agreement.found[t.Name()], "what was found")
	for k, f := range agreement.found[t.Name()] {
		assert.Equal(t, found{}, f, agreement.kernels[t.Name()][k].src)
	}
	requireDevices(t, agreement.devices)
}

// Intel's compiler takes a complement too many where the least or the largest of a complement and n goes into a sum that is the next n.
func TestComplements(t *testing.T) { agree(t) }

func complements() [][]text {
	var kernels []text
	for _, body := range []string{
		"n := p.N; for range 4 { n += max(^int32(u), n) }",
		"n := p.N; for range 3 { n ^= max(^int32(u), n) }",
		"n := p.N; for range 4 { n += min(^int32(u), n) }",
		"n := p.N; for range 4 { m := n; if ^int32(u) > n { m = ^int32(u) }; n += m }",
		"n := p.N; for range 4 { n += max(-1-int32(u), n) }",
		"n := p.N; for range 4 { n += max(int32(u)^-1, n) }",
		"n := a; for range 4 { n += max(^int64(u), n) }",
		"n := uint32(p.N); for range 4 { n += max(^u, n) }",
		"n := uint32(p.N); for range 4 { n += max(0xffffffff-u, n) }",
		"n := p.N; for range 4 { n += max(-int32(u)-1, n) }",
		"n := p.N; for range 4 { n += max(-(int32(u)+1), n) }",
		"n := p.N; for range 4 { n += max(0-int32(u)-1, n) }",
		"n := a; for range 4 { n += min(-int64(u)-1, n) }",
		"n := p.N; m := int32(-1); m &^= int32(u); for range 4 { n += max(m, n) }",
	} {
		kernels = append(kernels, text{1000620, `
//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	i := t.Global(1)*t.Size(0)*t.Blocks(0) + t.Global(0)
	if i >= len(y) {
		return
	}
	u := x[i]
	` + strings.ReplaceAll(body, "; ", "\n\t") + `
	y[i] = uint64(n)
}
`})
	}
	return [][]text{kernels}
}

// PoCL 7.1 lets all threads of a block leave a loop when the first does, if there is a loop in it.
func TestLoopsThatSomeThreadsLeave(t *testing.T) { agree(t) }

func loopsThatSomeThreadsLeave() [][]text {
	var kernels []text
	for _, body := range []string{
		"n := 1; for range 4 { n++; r += bits.Reverse64(uint64(u)); if w >= w { break } }; r += uint64(n)",
		"for range 4 { for k := range 9 { r = r*31 + uint64(u>>k) }; if w >= w { break } }",
		"g[i] = w; t.Barrier(); for range 4 { for k := range int(a) % 9 { r = r*31 + uint64(u>>k) }; if w >= w { break } }",
		"m := 0; for m < 1+int(u&3) { m++; for k := range 9 { r = r*31 + uint64(u>>k) } }",
		"m := 0; for m == 0 || m < 4 && !(w >= w) { m++; for k := range 9 { r = r*31 + uint64(u>>k) } }",
		"all: for range 4 { for range 2 { for k := range 9 { r = r*31 + uint64(u>>k) }; if w >= w { break all } } }",
		"r = h0_loop(u, w)",
		"v := int32(1); for range 4 { r = h0_step(&v, u); if w >= w { break } }; r += uint64(v)",
	} {
		kernels = append(kernels, text{6004103, `
func h0_loop(u uint32, w float32) (r uint64) {
	for range 4 {
		for k := range 9 {
			r = r*31 + uint64(u>>k)
		}
		if w >= w {
			return r
		}
	}
	return r + 1
}

func h0_step(p *int32, u uint32) uint64 {
	*p++
	return bits.Reverse64(uint64(u))
}

//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	i := (t.Global(2)*t.Size(1)*t.Blocks(1)+t.Global(1))*t.Size(0)*t.Blocks(0) + t.Global(0)
	var u uint32
	if i < len(x) {
		u = x[i]
	}
	w := e[i].In.F
	r := f32(w)
	` + strings.NewReplacer("; ", "\n\t", "all: ", "all:\n\t").Replace(body) + `
	if i < len(x) {
		y[i] = r
	}
}
`})
	}
	return [][]text{kernels}
}

// PoCL 7.1 leaves out the first thread of a block of these, if it counts the threads of the grid and of the block side by side.
func TestFirstThreadOfABlock(t *testing.T) { agree(t) }

func firstThreadOfABlock() [][]text {
	var kernels []text
	for _, body := range []string{
		"r := uint64(bits.ReverseBytes16(uint16(i))); v := float32(max(float64(f[i]), p.G)); r += f32(v)",
		"r := uint64(0); for k := 0; k < 16; k += 8 { r = r<<8 | uint64(uint16(i))>>k&255 }; v := max(f[i], p.F); r += f32(v) | 1<<40",
	} {
		kernels = append(kernels, text{1000560, `
//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	i := t.Global(0)
	if i >= len(x) {
		return
	}
	` + strings.ReplaceAll(body, "; ", "\n\t") + `
	y[i] = r
}
`})
	}
	return [][]text{kernels}
}

// PoCL 7.1 lets all threads of a block take the branch of the first, where a loop comes before the branch and both are in a branch of the whole block.
func TestBranchAfterALoop(t *testing.T) { agree(t) }

func branchAfterALoop() [][]text {
	var kernels []text
	for _, body := range []string{
		"s := uint64(9); if u > 1000 { for m := range u & 3 { s += s * uint64(m+7) } }; y[i] = s",
		"s := uint64(9); if u > 1000 { s = uint64(int64(w)) }; y[i] = s",
		"y[i] = uint64(float64(w))",
	} {
		kernels = append(kernels, text{3006941, `
//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	i := t.Global(0)
	if i >= len(z) {
		return
	}
	u, w := x[i], f[i]
	_ = w
	r := uint64(0)
	for k := 0; k < 8; k++ {
		r = r<<1 | uint64(u)>>k&1
	}
	z[i] = int32(r)
	` + strings.ReplaceAll(body, "; ", "\n\t") + `
}
`})
	}
	return [][]text{kernels}
}

// Where Intel's compiler runs threads one by one, it vectorises their loops, and adds and multiplies floats in another order.
func TestOrderOfSums(t *testing.T) { agree(t) }

func orderOfSums() [][]text {
	var kernels []text
	for _, body := range []string{
		"for j := range x { d := float32(uint16(x[j])) - w; r += float32(d * d) }",
		"for j := range len(x) { r += 0.01 / (1 + float32(uint16(x[j])+uint16(i))) }",
		"for _, v := range x { r *= 1 + float32(v&7+uint32(i))/1000 }",
		"var v struct{ a, b [2]float32 }; for j := range x { v.b[1] += float32(uint16(x[j])) / w }; r = v.b[1]",
		"j := 0; for j < len(x) && (w < 0.5 || uint32(j) < x[j]|1<<20) { r += float32(uint16(x[j])) / w; j++ }",
		"for j := range x { r = h0_added(r, x[j], w) }",
		"g[i] = w; for j := range x { g[i] += float32(uint16(x[j])) / 10 }; r = g[i]",
		"s := 0.1; for j := range x { s += 1 / (float64(x[j]) + float64(w)) }; r = float32((s - float64(float32(s))) * (1 << 40))",
	} {
		for _, seed := range []uint64{1000560, 3006941} { // other grids
			kernels = append(kernels, text{seed, `
func h0_added(s float32, u uint32, w float32) float32 { return s + float32(float32(uint16(u))*w) }

//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	i := t.Global(0)
	if i >= len(x) {
		return
	}
	w, r := float32(uint16(x[i]))/7, float32(1)
	_ = w
	` + strings.ReplaceAll(body, "; ", "\n\t") + `
	y[i] = f32(r)
}
`})
		}
	}
	return [][]text{kernels}
}

// In the same loops it takes stores to elements of an array for independent, where one round reads what an earlier one has stored.
func TestRoundsOneAfterTheOther(t *testing.T) { agree(t) }

func roundsOneAfterTheOther() [][]text {
	var kernels []text
	for _, body := range []string{
		"for k, v := range x { o[k&3] ^= int(v) }",
		"for k := 0; k < len(x); k++ { o[k&1] += k }",
		"for k := range x { o[x[k]&3]++ }",
		"for k := range x { q.a[k&1][k&2] += k }; o[0] = q.a[0][0] + 3*q.a[1][2]",
		"for k := range x { h0_add(&o[k&1], k) }",
		"if i < 20 { for k, v := range x { y[i*2+k&1] ^= uint64(v) } }; return",
		"if i < 20 { for k, v := range x { e[i*2+k&1].List[0] ^= v } }; return",
		"s := grid.Shared[[40]uint32](t); l := t.Local(0); for k, v := range x { s[l*2+k&1] ^= v }; o[0] = int(s[l*2+1]) - int(s[l*2])",
	} {
		kernels = append(kernels, text{1000560, `
func h0_add(p *int, n int) { *p += n }

//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	i := t.Global(0)
	o, q := [4]int{1, 2, 3, int(p.N)}, struct{ a [2][4]int }{}
	_ = q
	` + strings.ReplaceAll(body, "; ", "\n\t") + `
	if i < len(y) {
		y[i] = uint64(o[0])*31 + uint64(o[1])*961 + uint64(o[2])*29791 + uint64(o[3])*923521
	}
}
`})
	}
	return [][]text{kernels}
}

// Mesa's Vulkan driver for processors leaves out products, quotients and sums with a zero that it knows to be one: because the text has
// it, or because it is computed from constants, or from an index in a dimension in which blocks have one thread.
func TestZerosThatACompilerKnows(t *testing.T) { agree(t) }

func zerosThatACompilerKnows() [][]text {
	var kernels []text
	for _, body := range []string{
		"r := f64(float64(w) * 0)",
		"r := f32(w * 0)",
		"r := f32(w / 0)",
		"r := f32(0 / w)",
		"v := float32(0); r := f32(v * w)",
		"var v struct {\n\t\ta [2]float32\n\t\tb float64\n\t}; r := f32(v.a[1]*w) + f64(v.b*float64(w))",
		"v := 0.0; r := f64(float64(w) / v)",
		"r := f32(w + float32(t.Local(2)))",
		"r := f32(w * float32(t.Local(2)))",
		"r := f64(float64(w) + float64(uint8(t.Local(2))))",
		"v := float32(1.5); v -= 1.5; r := f32(w + v)",
		"v := 1.5; for range 3 { v -= 0.5 }; r := f64(float64(w) * v)",
		"v := 0.25; r := f64(float64(w) + math.Floor(v))",
		"v := 1e-300; r := f32(w + float32(v))",
		"r := f32(w * math.Float32frombits(uint32(t.Local(2))))",
		"r := f64(float64(w) + math.Float64frombits(uint64(t.Local(2))))",
		"v := float32(1); if t.Local(2) < 1 { v -= 1 }; r := f32(w * v)",
	} {
		kernels = append(kernels, text{8001471, `
//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	i := (t.Global(2)*t.Size(1)*t.Blocks(1)+t.Global(1))*t.Size(0)*t.Blocks(0) + t.Global(0)
	if i >= len(x) {
		return
	}
	w := f[i]
	` + strings.ReplaceAll(body, "; ", "\n\t") + `
	y[i] = r
}
`})
	}
	return [][]text{kernels}
}

// PoCL runs threads that have returned if a barrier follows. One after which nothing happens is left out.
func TestReturnsBeforeTheEnd(t *testing.T) { agree(t) }

func returnsBeforeTheEnd() [][]text {
	line := uint64(1) // the seed of a grid
	for s := shaped(line); s.dims != 1 || s.block[0] < 8 || s.block[0] > 64 || s.blocks[0] < 2; s = shaped(line) {
		line++
	}
	var kernels []text
	for _, body := range []string{
		"if u&7 > 3 || i >= len(y) { return }; s := grid.Shared[[64]int32](t); s[l] = int32(u & 7); for range u & 7 { s[l]++ }; y[i] = uint64(s[l]); t.Barrier()",
		"if u&7 > 3 || i >= len(y) { return }; y[i] = 1; for range u & 7 { y[i]++ }; t.Barrier(); t.Barrier(); return",
		"s := grid.Shared[[64]uint32](t); s[l] = u; t.Barrier(); v := s[l^1]; if v&7 > 3 || i >= len(y) { return }; for range u & 7 { v++ }; y[i] = uint64(v); t.Barrier(); ; t.Barrier()",
		"s := grid.Shared[[64]uint32](t); s[l] = u; for k := range 3 { t.Barrier(); s[l] += uint32(k) }; if u&1 > 0 || i >= len(y) { return }; y[i] = uint64(s[l]); t.Barrier(); return",
	} {
		kernels = append(kernels, text{line, `
//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	i, l, u := t.Global(0), t.Local(0), uint32(0)
	if i < len(x) {
		u = x[i]
	}
	_ = l
	` + strings.ReplaceAll(body, "; ", "\n\t") + `
}
`})
	}
	return [][]text{kernels}
}
