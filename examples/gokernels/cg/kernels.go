package cg

import "github.com/go-halyard/halyard/kernel/grid"

const block = 64 // threads of a block that adds numbers up

// laplace writes the Laplacian of p. The conversions keep Go from fusing operations, so that the host gives the bits that devices give.
//
//halyard:kernel
func laplace(t grid.Thread, p []float32, q grid.Out[float32], n int) {
	j, i := t.Global(0), t.Global(1)
	if i >= n || j >= n {
		return
	}
	at := i*n + j
	v := float32(4 * p[at])
	if i > 0 {
		v -= p[at-n]
	}
	if j > 0 {
		v -= p[at-1]
	}
	if j < n-1 {
		v -= p[at+1]
	}
	if i < n-1 {
		v -= p[at+n]
	}
	q[at] = v
}

// product writes the dot product of each row of a and b. Each block computes one row.
//
//halyard:kernel
func product(t grid.Thread, a, b []float32, sums grid.Out[float32], n int) {
	me, row := t.Local(0), t.Block(0)*n
	mine := float32(0)
	for j := me; j < n; j += block {
		mine += float32(a[row+j] * b[row+j])
	}
	sum := grid.BlockSum(t, mine)
	if me == 0 {
		sums[t.Block(0)] = sum
	}
}

// total writes the sum of all elements. It runs as one block.
//
//halyard:kernel
func total(t grid.Thread, sums []float32, out grid.Out[float32]) {
	me := t.Local(0)
	mine := float32(0)
	for j := me; j < len(sums); j += block {
		mine += sums[j]
	}
	sum := grid.BlockSum(t, mine)
	if me == 0 {
		out[0] = sum
	}
}

// advance goes along p.
//
//halyard:kernel
func advance(t grid.Thread, x, r, p, q, rr, pq []float32) {
	if i := t.Global(0); i < len(x) {
		alpha := rr[0] / pq[0]
		x[i] += float32(alpha * p[i])
		r[i] -= float32(alpha * q[i])
	}
}

// direct makes p the next direction.
//
//halyard:kernel
func direct(t grid.Thread, p, r, now, before []float32) {
	if i := t.Global(0); i < len(p) {
		beta := now[0] / before[0]
		p[i] = r[i] + float32(beta*p[i])
	}
}
