package main

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// tile is the edge of the tiles of a matrix that is decomposed.
const tile = 16

// luDiagonal decomposes the tile on the diagonal that begins at a place. A thread has a row of it.
//
//halyard:kernel
func luDiagonal(t grid.Thread, at int, a grid.Matrix[float32]) {
	part := grid.Shared[[tile][tile]float32](t)
	me := t.Local(0)
	for k := range tile {
		part[me][k] = a.At(at+me, at+k)
	}
	for k := range tile - 1 {
		t.Barrier()
		if me > k {
			l := part[me][k] / part[k][k]
			part[me][k] = l
			for j := k + 1; j < tile; j++ {
				part[me][j] -= float32(l * part[k][j])
			}
		}
	}
	for k := range tile {
		a.Set(at+me, at+k, part[me][k])
	}
}

// luRight solves the tiles to the right of one on the diagonal. A thread has a column.
//
//halyard:kernel
func luRight(t grid.Thread, at int, a grid.Matrix[float32]) {
	x := at + tile + t.Global(0)
	if x >= a.Cols() {
		return
	}
	for i := 1; i < tile; i++ {
		v := a.At(at+i, x)
		for k := range i {
			v -= float32(a.At(at+i, at+k) * a.At(at+k, x))
		}
		a.Set(at+i, x, v)
	}
}

// luBelow solves the tiles below one on the diagonal. A thread has a row.
//
//halyard:kernel
func luBelow(t grid.Thread, at int, a grid.Matrix[float32]) {
	y := at + tile + t.Global(0)
	if y >= a.Rows() {
		return
	}
	for j := range tile {
		v := a.At(y, at+j)
		for k := range j {
			v -= float32(a.At(y, at+k) * a.At(at+k, at+j))
		}
		a.Set(y, at+j, v/a.At(at+j, at+j))
	}
}

// luInner subtracts the products of the tiles to the left and above from the others.
//
//halyard:kernel
func luInner(t grid.Thread, at int, a grid.Matrix[float32]) {
	left := grid.Shared[[tile][tile]float32](t)
	above := grid.Shared[[tile][tile]float32](t)
	x, y := t.Local(0), t.Local(1)
	i, j := at+tile+t.Global(1), at+tile+t.Global(0)
	left[y][x] = a.At(i, at+x)
	above[y][x] = a.At(at+y, j)
	t.Barrier()
	v := a.At(i, j)
	for k := range tile {
		v -= float32(left[y][k] * above[k][x])
	}
	a.Set(i, j, v)
}

// fftStage is a stage of a Fourier transform whose groups have at least s points: thread (q, p) has point q of group p.
//
//halyard:kernel
func fftStage(t grid.Thread, s int, wr, wi, xr, xi []float32, yr, yi grid.Out[float32]) {
	q, p, half := t.Global(0), t.Global(1), len(xr)/2
	if q >= s {
		return
	}
	i, o := p*s+q, 2*p*s+q
	dr, di := xr[i]-xr[i+half], xi[i]-xi[i+half]
	yr[o], yi[o] = xr[i]+xr[i+half], xi[i]+xi[i+half]
	yr[o+s] = float32(dr*wr[p*s]) - float32(di*wi[p*s])
	yi[o+s] = float32(dr*wi[p*s]) + float32(di*wr[p*s])
}

// fftShort is a stage whose groups are shorter than a vector.
//
//halyard:kernel
func fftShort(t grid.Thread, s int, wr, wi, xr, xi []float32, yr, yi grid.Out[float32]) {
	i, half := t.Global(0), len(xr)/2
	if i >= half {
		return
	}
	first := i &^ (s - 1)
	dr, di := xr[i]-xr[i+half], xi[i]-xi[i+half]
	yr[i+first], yi[i+first] = xr[i]+xr[i+half], xi[i]+xi[i+half]
	yr[i+first+s] = float32(dr*wr[first]) - float32(di*wi[first])
	yi[i+first+s] = float32(dr*wi[first]) + float32(di*wr[first])
}

// strip is the edge of the tiles of a table of scores.
const strip = 128

// align fills a tile of a table of Needleman and Wunsch, as a block. The table has a line for each diagonal: cell (i, j) is element i of
// line i+j. back is the second sequence from its end to its begin.
//
//halyard:kernel
func align(t grid.Thread, tiles, first int, a, back []uint8, score []int32) {
	me, n := t.Local(0), len(a)
	line, row := n+1, first+t.Block(0)
	i := row*strip + me + 1
	for k := range 2*strip - 1 {
		if j := k - me; j >= 0 && j < strip {
			d := tiles*strip + k + 2
			same := int32(-1)
			if a[i-1] == back[n-d+i] {
				same = 2
			}
			score[d*line+i] = max(score[(d-2)*line+i-1]+same, score[(d-1)*line+i-1]-1, score[(d-1)*line+i]-1)
		}
		t.Barrier()
	}
}

// dct transforms the tiles of a picture, each as a block of 8 by 8 threads. cosines[k][u] is what number k of 8 counts in coefficient u.
//
//halyard:kernel
func dct(t grid.Thread, cosines [][8]float32, in grid.Matrix[float32], out grid.OutMatrix[float32]) {
	part := grid.Shared[[8][8]float32](t)
	half := grid.Shared[[8][8]float32](t)
	x, y := t.Local(0), t.Local(1)
	part[y][x] = in.At(t.Global(1), t.Global(0))
	t.Barrier()
	sum := float32(0)
	for k := range 8 {
		sum += float32(cosines[k][y] * part[k][x])
	}
	half[y][x] = sum
	t.Barrier()
	all := float32(0)
	for k := range 8 {
		all += float32(half[y][k] * cosines[k][x])
	}
	out.Set(t.Global(1), t.Global(0), all)
}

// particle is a place, and how strongly what is there pulls.
type particle struct{ x, y, z, charge float32 }

// inBox is how many particles a box has, and nearBoxes from how many boxes they are pulled.
const (
	inBox     = 100
	nearBoxes = 27
)

// lavaMD adds up what pulls the particles of each box.
//
//halyard:kernel
func lavaMD(t grid.Thread, boxes int, alpha float32, near []int32, all []particle, pull grid.Out[particle]) {
	box := t.Global(1)
	if t.Global(0) >= inBox || box >= boxes {
		return
	}
	me := box*inBox + t.Global(0)
	x, y, z := all[me].x, all[me].y, all[me].z
	fx, fy, fz, v := float32(0), float32(0), float32(0), float32(0)
	for b := range nearBoxes {
		from := int(near[box*nearBoxes+b]) * inBox
		if from < 0 {
			continue
		}
		for k := range inBox {
			dx, dy, dz := x-all[from+k].x, y-all[from+k].y, z-all[from+k].z
			u := float32(alpha * (float32(dx*dx) + float32(dy*dy) + float32(dz*dz)))
			e := all[from+k].charge * float32(math.Exp(float64(-u)))
			s := 2 * e
			v += e
			fx += float32(s * dx)
			fy += float32(s * dy)
			fz += float32(s * dz)
		}
	}
	pull[me] = particle{fx, fy, fz, v}
}

// aes encrypts blocks of 16 bytes by AES with a key of 128 bits. tables are the tables of the rounds, and last is that of the last round.
//
//halyard:kernel
func aes(t grid.Thread, keys []uint32, tables [][256]uint32, last [][256]uint8, in [][16]uint8, out grid.Out[[16]uint8]) {
	i := t.Global(0)
	if i >= len(in) {
		return
	}
	a, b, c, d := word(in[i], 0)^keys[0], word(in[i], 4)^keys[1], word(in[i], 8)^keys[2], word(in[i], 12)^keys[3]
	for r := 4; r < 40; r += 4 {
		e := tables[0][a>>24] ^ tables[1][b>>16&255] ^ tables[2][c>>8&255] ^ tables[3][d&255] ^ keys[r]
		f := tables[0][b>>24] ^ tables[1][c>>16&255] ^ tables[2][d>>8&255] ^ tables[3][a&255] ^ keys[r+1]
		g := tables[0][c>>24] ^ tables[1][d>>16&255] ^ tables[2][a>>8&255] ^ tables[3][b&255] ^ keys[r+2]
		h := tables[0][d>>24] ^ tables[1][a>>16&255] ^ tables[2][b>>8&255] ^ tables[3][c&255] ^ keys[r+3]
		a, b, c, d = e, f, g, h
	}
	k, l, m, n := keys[40], keys[41], keys[42], keys[43]
	out[i] = [16]uint8{
		last[0][a>>24] ^ uint8(k>>24), last[0][b>>16&255] ^ uint8(k>>16), last[0][c>>8&255] ^ uint8(k>>8), last[0][d&255] ^ uint8(k),
		last[0][b>>24] ^ uint8(l>>24), last[0][c>>16&255] ^ uint8(l>>16), last[0][d>>8&255] ^ uint8(l>>8), last[0][a&255] ^ uint8(l),
		last[0][c>>24] ^ uint8(m>>24), last[0][d>>16&255] ^ uint8(m>>16), last[0][a>>8&255] ^ uint8(m>>8), last[0][b&255] ^ uint8(m),
		last[0][d>>24] ^ uint8(n>>24), last[0][a>>16&255] ^ uint8(n>>16), last[0][b>>8&255] ^ uint8(n>>8), last[0][c&255] ^ uint8(n),
	}
}

func word(s [16]uint8, at int) uint32 {
	return uint32(s[at])<<24 | uint32(s[at+1])<<16 | uint32(s[at+2])<<8 | uint32(s[at+3])
}

// sradFlow computes how much of the differences to its neighbours each point of a picture takes over: a coefficient.
//
//halyard:kernel
func sradFlow(t grid.Thread, q0 float32, in grid.Matrix[float32], north, south, west, east, flow grid.OutMatrix[float32]) {
	x, y := t.Global(0), t.Global(1)
	if x >= in.Cols() || y >= in.Rows() {
		return
	}
	v := in.At(y, x)
	n, s := in.At(max(y-1, 0), x)-v, in.At(min(y+1, in.Rows()-1), x)-v
	w, e := in.At(y, max(x-1, 0))-v, in.At(y, min(x+1, in.Cols()-1))-v
	g := (float32(n*n) + float32(s*s) + float32(w*w) + float32(e*e)) / float32(v*v)
	l := (n + s + w + e) / v
	d := 1 + float32(0.25*l)
	q := (float32(0.5*g) - float32(0.0625*float32(l*l))) / float32(d*d)
	c := 1 / (1 + (q-q0)/float32(q0*(1+q0)))
	north.Set(y, x, n)
	south.Set(y, x, s)
	west.Set(y, x, w)
	east.Set(y, x, e)
	flow.Set(y, x, max(0, min(1, c)))
}

// sradStep takes over differences.
//
//halyard:kernel
func sradStep(t grid.Thread, part float32, north, south, west, east, flow, in grid.Matrix[float32], out grid.OutMatrix[float32]) {
	x, y := t.Global(0), t.Global(1)
	if x >= flow.Cols() || y >= flow.Rows() {
		return
	}
	c := flow.At(y, x)
	below, right := flow.At(min(y+1, flow.Rows()-1), x), flow.At(y, min(x+1, flow.Cols()-1))
	d := float32(c*north.At(y, x)) + float32(below*south.At(y, x)) + float32(c*west.At(y, x)) + float32(right*east.At(y, x))
	out.Set(y, x, in.At(y, x)+float32(part*d))
}

// pathfinder finds the least sums of paths down a wall: a row of it, from those of the row above.
//
//halyard:kernel
func pathfinder(t grid.Thread, row int, wall, from []int32, to grid.Out[int32]) {
	x := t.Global(0)
	if x >= len(from) {
		return
	}
	to[x] = wall[row*len(from)+x] + min(from[max(x-1, 0)], from[x], from[min(x+1, len(from)-1)])
}

// spmv multiplies a sparse matrix by a vector. Row i has the numbers from starts[i] on.
//
//halyard:kernel
func spmv(t grid.Thread, starts, cols []int32, values, x []float32, y grid.Out[float32]) {
	i := t.Global(0)
	if i >= len(starts)-1 {
		return
	}
	sum, last := float32(0), starts[i+1]
	for k := starts[i]; k < last; k++ {
		sum += float32(values[k] * x[cols[k]])
	}
	y[i] = sum
}

// mostQueens is the largest board.
const mostQueens = 20

// queens counts in how many ways queens can be set in the rows of an n by n board from row 2 on. A thread has the places of the first two.
//
//halyard:kernel
func queens(t grid.Thread, n uint32, counts grid.Out[uint32]) {
	i := uint32(t.Global(0))
	if i >= n*n {
		return
	}
	var left, down, right, free [mostQueens]uint32
	board, count := uint32(1)<<n-1, uint32(0)
	a, b := uint32(1)<<(i/n), uint32(1)<<(i%n)
	if b&(a|a<<1|a>>1) == 0 {
		row := 2
		left[2], down[2], right[2] = (a<<1|b)<<1, a|b, (a>>1|b)>>1
		free[2] = board &^ (left[2] | down[2] | right[2])
		for row >= 2 {
			if free[row] == 0 {
				row--
				continue
			}
			bit := free[row] & -free[row]
			free[row] ^= bit
			if uint32(row) == n-1 {
				count++
				continue
			}
			left[row+1], down[row+1], right[row+1] = (left[row]|bit)<<1, down[row]|bit, (right[row]|bit)>>1
			row++
			free[row] = board &^ (left[row] | down[row] | right[row])
		}
	}
	counts[i] = count
}

// bitonicFar orders pairs of numbers that are at least a vector apart: thread (q, p) has pair q of group p.
//
//halyard:kernel
func bitonicFar(t grid.Thread, size, apart int, x []int32) {
	q, p := t.Global(0), t.Global(1)
	if q >= apart {
		return
	}
	i := 2*p*apart + q
	low, high := min(x[i], x[i+apart]), max(x[i], x[i+apart])
	if 2*p*apart&size == 0 {
		x[i], x[i+apart] = low, high
	} else {
		x[i], x[i+apart] = high, low
	}
}

// bitonicNear orders pairs that are less apart. A thread has 8 numbers that follow each other.
//
//halyard:kernel
func bitonicNear(t grid.Thread, size int, x []int32) {
	first := 8 * t.Global(0)
	if first+8 > len(x) {
		return
	}
	var v [8]int32
	for i := range v {
		v[i] = x[first+i]
	}
	for apart := min(4, size/2); apart > 0; apart /= 2 {
		for i := range v {
			if other := i | apart; other > i {
				low, high := min(v[i], v[other]), max(v[i], v[other])
				if (first+i)&size == 0 {
					v[i], v[other] = low, high
				} else {
					v[i], v[other] = high, low
				}
			}
		}
	}
	for i := range v {
		x[first+i] = v[i]
	}
}

// bfs gives the points that have a neighbour in the last level of a search the next level.
//
//halyard:kernel
func bfs(t grid.Thread, level int32, starts, ends, from []int32, to grid.Out[int32]) {
	i := t.Global(0)
	if i >= len(from) {
		return
	}
	l := from[i]
	if l < 0 {
		last := starts[i+1]
		for k := starts[i]; k < last; k++ {
			if from[ends[k]] == level {
				l = level + 1
				break
			}
		}
	}
	to[i] = l
}
