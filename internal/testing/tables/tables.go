// Package tables has kernels that read variables of their package that nothing changes.
package tables

import (
	"math/bits"

	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run ../../../cmd/halyard kernels .

// rounds are the constants of SHA-256, as FIPS 180-4 lists them.
var rounds = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

var initial = [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}

// Message is a message of at most 55 bytes, which SHA-256 hashes in one block.
type Message struct {
	Text [55]uint8
	Len  uint8
}

// word returns the big-endian word i of the message's block.
func (m *Message) word(i int) (w uint32) {
	if i == 15 {
		return uint32(m.Len) * 8
	}
	for b := range 4 {
		at := 4*i + b
		w <<= 8
		switch {
		case at < int(m.Len):
			w |= uint32(m.Text[at])
		case at == int(m.Len):
			w |= 0x80
		}
	}
	return w
}

//halyard:kernel
func digest(t grid.Thread, messages []Message, sums grid.Out[[8]uint32]) {
	i := t.Global(0)
	if i >= len(sums) {
		return
	}
	var w [64]uint32
	for j := range 16 {
		w[j] = messages[i].word(j)
	}
	for j := 16; j < 64; j++ {
		x, y := w[j-15], w[j-2]
		a := bits.RotateLeft32(x, -7) ^ bits.RotateLeft32(x, -18) ^ x>>3
		b := bits.RotateLeft32(y, -17) ^ bits.RotateLeft32(y, -19) ^ y>>10
		w[j] = w[j-16] + a + w[j-7] + b
	}
	h := initial
	for j, k := range rounds {
		s1 := bits.RotateLeft32(h[4], -6) ^ bits.RotateLeft32(h[4], -11) ^ bits.RotateLeft32(h[4], -25)
		t1 := h[7] + s1 + (h[4]&h[5] ^ ^h[4]&h[6]) + k + w[j]
		s0 := bits.RotateLeft32(h[0], -2) ^ bits.RotateLeft32(h[0], -13) ^ bits.RotateLeft32(h[0], -22)
		t2 := s0 + (h[0]&h[1] ^ h[0]&h[2] ^ h[1]&h[2])
		h[7], h[6], h[5], h[4], h[3], h[2], h[1], h[0] = h[6], h[5], h[4], h[3]+t1, h[2], h[1], h[0], t1+t2
	}
	for j, x := range initial {
		sums[i][j] = h[j] + x
	}
}

// cell is an element of a table.
type cell struct {
	weight float32
	on     bool
	small  [2]int8
	turn   complex64
	wide   int64
}

func (c cell) total() int64 {
	sum := c.wide + int64(c.small[0]) - int64(c.small[1])
	if c.on {
		sum += int64(c.weight*8) + int64(imag(c.turn))
	}
	return sum
}

var (
	cells = []cell{
		{weight: 0.5, on: true, small: [2]int8{-128, 127}, turn: 2 - 3i, wide: -1 << 63},
		5: {-1, true, [...]int8{1: -7}, complex(0, 1), 1<<63 - 1},
		1: {wide: -2},
	}
	grades = [2][3]float64{{0.1, -1, 1e-300}, {1: -0.25}}
	bytes  = [...]uint8{3: 255, 7, 'x'}
	waves  = [...]complex128{1i, -0.5, 2: 3 + 4i}
	short  = []uint16{65535, 1, 40000}
	steps  = [2]int32{-2, 5}
	masks  = [2]uint64{1 << 63, 0xfedcba9876543210}
)

func graded(row []float64, i int) float64 {
	sum := 0.0
	for j := range grades[i&1] {
		sum += float64(row[j] * grades[i&1][j])
	}
	for _, g := range grades[(i+1)&1] {
		sum -= g
	}
	return sum
}

// looked is what the kernel look computes for a thread.
func looked(i int, rows []float64, from int32) (int64, float64) {
	c := cells[int(from)%len(cells)]
	sum := c.total() + cells[i%len(cells)].total()
	if 0 < int(steps[i&1])&int(-1) { // Mesa's driver once took a number of a table that is extended for one above 0
		sum += 3
	}
	for j, s := range short {
		sum += int64(s) << j
	}
	sum += int64(bytes[i%len(bytes)]) + int64(len(short)) + int64(masks[i&1]>>3)
	all := grades
	z := waves[i%3] * waves[2]
	return sum, graded(rows, i) + all[i&1][1] + real(z) - float64(imag(z)*0.5)
}

//halyard:kernel
func look(t grid.Thread, rows []float64, from []int32, sums grid.Out[int64], floats grid.Out[float64]) {
	if i := t.Global(0); i < len(sums) {
		sums[i], floats[i] = looked(i, rows, from[i])
	}
}
