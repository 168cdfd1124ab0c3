package translate

import (
	"strings"
	"testing"
)

// What a thread does with elements that may be the same happens in its order. PoCL computes several threads at once, and moves stores whose
// addresses follow each other from thread to thread past what other statements of the same thread do.
func TestUsesOfOneElementInOrder(t *testing.T) { agree(t) }

func usesOfOneElementInOrder() [][]text {
	line, plane := uint64(1), uint64(1) // seeds of grids
	for s := shaped(line); s.dims != 1 || s.block[0] < 16 || s.blocks[0] < 3 || s.total()-s.beyond < 2*s.block[0]; s = shaped(line) {
		line++
	}
	for s := shaped(plane); s.dims != 2 || s.block[0] != 3 || s.block[1] < 8; s = shaped(plane) {
		plane++
	}
	var kernels []text
	for _, body := range []string{ // the pair of a thread in a buffer
		"y[2*i] = 1; y[2*i+k] += 5; y[2*i+1] += 7",
		"y[2*i] = 1; y[2*i+k] = 5; y[2*i+1] = uint64(x[i])",
		"y[2*i] = 3; r := y[2*i+k]; y[2*i+1] = r + 2",
		"j := 2*i; y[j] = 1; j += k; y[j] = 5; j = 2*i + 1; y[j] = 9",
		"h0_put(y, 2*i, 1); h0_put(y, 2*i+k, 5); h0_put(y, 2*i+1, 9)",
		"h0_put(y, 2*i+k, 5); y[2*i+1] = 9",
		"h0_set(&y[2*i+k], 5); y[2*i+1] = 9",
		"y[2*i+k] = 3; z[i] = int32(h0_get(y, 2*i))",
	} {
		kernels = append(kernels, text{line, `
func h0_put(y []uint64, i int, v uint64) { y[i] = v }
func h0_get(y []uint64, i int) uint64    { return y[i] }
func h0_set(p *uint64, v uint64)         { *p = v }

//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	if t.Block(0) > 0 {
		return
	}
	i := t.Global(0)
	k := int(x[i] & 1)
	` + strings.ReplaceAll(body, "; ", "\n\t") + "\n}\n"})
	}
	for _, body := range []string{ // an array of the thread's own that is needed after a barrier
		"v := [2]uint64{uint64(i) + 1, uint64(u)}; r := v[k]",
		"v := [2]uint64{uint64(i) + 1, uint64(u)}; r := h0_element(v, k)",
		"var v [4]uint16; v[u&3] = uint16(float64(w)); r := uint64(1)",
		"var v [2]uint64; h0_set(&v[k], uint64(w)*3 + 1); r := uint64(1)",
		"var v [2]uint64; v[0] = 3; r := v[k]; v[1] = r + 2",
	} {
		kernels = append(kernels, text{plane, `
func h0_element(v [2]uint64, i int) uint64 { return v[i] }
func h0_set(p *uint64, v uint64) { *p = v }

//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	i := t.Global(1)*t.Size(0)*t.Blocks(0) + t.Global(0)
	var u uint32
	var w float32
	in := i < len(x)
	if in {
		u, w = x[i], f[i]
	}
	w = min(max(w, 0), 9)
	_ = w
	k := int(u & 1)
	_ = k
	` + strings.ReplaceAll(body, "; ", "\n\t") + `
	t.Barrier()
	if in {
		y[i] = uint64(v[0])*3 + uint64(v[1])*1000 + r*1000000
	}
}
`})
	}
	for _, body := range []string{ // a copy of a structure whose address a method gets
		"v := e[i]; s[l] = 1; sum := v.sum()",
		"v := e[i]; v.A++; s[l] = 1; sum := v.sum()",
		"s[l] = 1; t.Barrier(); v := e[i]; sum := v.sum()",
		"s[l] = 1; t.Barrier(); var v Elem; v.A, v.On, v.In, v.List, v.G = e[i].A, e[i].On, e[i].In, e[i].List, e[i].G; sum := v.sum()",
	} {
		kernels = append(kernels, text{5000106, `
//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	s := grid.Shared[[8]uint32](t)
	i := (t.Global(2)*t.Size(1)*t.Blocks(1)+t.Global(1))*t.Size(0)*t.Blocks(0) + t.Global(0)
	l := (t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0) + t.Local(0)
	` + strings.ReplaceAll(body, "; ", "\n\t") + `
	if i < len(x) {
		y[i] = sum
	}
}
`})
	}
	whole := text{65, `
//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	i := t.Global(0)
	if i >= len(x) {
		return
	}
	v := uint64(bits.ReverseBytes16(uint16(x[i])))
	y[i] = v + uint64(p.N+1%(int32(x[i])|1)) // PoCL 7.1 leaves the store out if the division is conditional
}
`}
	return [][]text{append([]text{whole}, kernels[:8]...), kernels[8:]} // packages without barriers, and with
}

// The places that a statement assigns to are found before it assigns: Go's rule of tuple assignments, which a range with = follows as well.
func TestPlacesBeforeAssignments(t *testing.T) { agree(t) }

func placesBeforeAssignments() [][]text {
	var kernels []text
	for _, body := range []string{
		"for k, o[k] = range [3]int{9, 8, 7} { }",
		"for o[k], k = range [3]int{1, 3, 0} { }",
		"for o[k], o[o[k]&3] = range o { o[2] += k }",
		"for o[1], o[o[1]&3] = range &o { k++ }",
		"for o[k&3] = range 3 { k += 2 }",
		"for o[k] = range o { k = o[k] ^ 1 }",
		"for k, e[i].List[k&1] = range [2]uint32{5, 6} { k += 2 }",
		"var s struct{ k int; a [4]int }; for s.k, s.a[s.k&3] = range [3]int{4, 5, 6} { s.k++ }; k, o = s.k, s.a",
		"var u uint32; for k, u = range x { o[0] ^= int(u) + k }",
		"k, o[k] = 1, 7; o[k], k = k, 2; o[k&3], o[(k+1)&3], k = o[(k+1)&3], o[k&3], 0",
		"o[k]++; o[k&1] += k; k, o[k] = o[k], k",
		"for k = 3; k > 0; k, o[k] = k-1, o[k]+5 { }",
		"for n, m := 0, 0; n < 9 && m < 3; n++ { m++; for n = range o { o[n]++; if w > 0 { break } }; for j := range 5 { o[n] += j * i } }",
	} {
		kernels = append(kernels, text{1000560, `
//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	i := t.Global(0)
	if i >= len(z) {
		return
	}
	w, k, o := f[i], 3, [4]int{1, 2, 3, int(p.N)}
	_ = w
	` + strings.ReplaceAll(body, "; ", "\n\t") + `
	y[i] = uint64(k) + uint64(o[0])*31 + uint64(o[1])*961 + uint64(o[2])*29791 + uint64(o[3])*923521
}
`})
	}
	return [][]text{kernels}
}

// An expression may be nested as deeply as one likes. Clang takes 256 brackets.
func TestExpressionsOfAnyDepth(t *testing.T) { agree(t) }

func expressionsOfAnyDepth() [][]text {
	nested := func(begin, middle, end string) string {
		return strings.Repeat(begin, 200) + middle + strings.Repeat(end, 200)
	}
	var kernels []text
	for _, value := range []string{
		nested("", "a", " + int64(u)*7"),
		nested("(", "a", "*3 + 1)"),
		nested("(1 - 3*", "a", ")"),
		nested("max(int64(u) - ", "a", ", 5)"),
		nested("(w*w + ", "w", ")"),
		nested("x[", "u&1", "&3]"),
		nested("-(", "int32(u)", " ^ 1)"),
	} {
		kernels = append(kernels, text{1, `
//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32, e []Elem) {
	i := t.Global(0)
	if i >= len(x) || t.Global(1)+t.Global(2) > 0 {
		return
	}
	u, w := x[i]&1, min(max(f[i], 0), 9)
	_, _ = u, w
	y[i] = uint64(` + value + `)
}
`})
	}
	return [][]text{kernels}
}
