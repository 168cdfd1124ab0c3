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
