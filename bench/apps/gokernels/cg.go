package gokernels

import "github.com/go-halyard/halyard/kernel/grid"

// product writes the dot product of each row of a and b, which has n elements. Each block computes one row.
//
//halyard:kernel
func product(t grid.Thread, n int32, a, b []float32, sums grid.Out[float32]) {
	part := grid.Shared[[block]float32](t)
	me, row, mine := t.Local(0), t.Block(0)*int(n), float32(0)
	for j := me; j < int(n); j += block {
		mine += float32(a[row+j] * b[row+j])
	}
	part[me] = mine
	for half := block / 2; half > 0; half /= 2 {
		t.Barrier()
		if me < half {
			part[me] += part[me+half]
		}
	}
	if me == 0 {
		sums[t.Block(0)] = part[0]
	}
}

// total adds up all sums. It runs as one block.
//
//halyard:kernel
func total(t grid.Thread, sums []float32, out grid.Out[float32]) {
	part := grid.Shared[[block]float32](t)
	me, mine := t.Local(0), float32(0)
	for j := me; j < len(sums); j += block {
		mine += sums[j]
	}
	part[me] = mine
	for half := block / 2; half > 0; half /= 2 {
		t.Barrier()
		if me < half {
			part[me] += part[me+half]
		}
	}
	if me == 0 {
		out[0] = part[0]
	}
}

// laplace multiplies p by the matrix. p has one row more than q on each side.
//
//halyard:kernel
func laplace(t grid.Thread, n, rows int32, p []float32, q grid.Out[float32]) {
	w, j := int(n), t.Global(0)
	if j >= w || t.Global(1) >= int(rows) {
		return
	}
	i := t.Global(1)*w + j
	at, left, right := i+w, float32(0), float32(0)
	if j > 0 {
		left = p[at-1]
	}
	if j < w-1 {
		right = p[at+1]
	}
	q[i] = float32(4*p[at]) - p[at-w] - p[at+w] - left - right
}

//halyard:kernel
func advance(t grid.Thread, x, r, p, q, rr, pq []float32) {
	if i := t.Global(0); i < len(x) {
		alpha := rr[0] / pq[0]
		x[i] += float32(alpha * p[i])
		r[i] -= float32(alpha * q[i])
	}
}

//halyard:kernel
func direct(t grid.Thread, p, r, now, before []float32) {
	if i := t.Global(0); i < len(p) {
		p[i] = r[i] + float32(now[0]/before[0]*p[i])
	}
}
