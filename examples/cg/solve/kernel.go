package solve

import (
	"context"
	"errors"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// Threads is the size of a block that adds up numbers. It is a power of two.
const Threads = 64

// Text has the kernels in the portable dialect. One block adds up each row of a dot product, always in the same order, so that the sums have the
// same bits on any number of devices: each thread adds up every 64th product, then half of the threads add the other half's sums to theirs, and so
// on. TOTAL does all but the first step, in memory that the threads share.
const Text = `
#define TOTAL(part, mine) \
	part[THREAD(0)] = mine; \
	for (u64 width = THREADS(0) / 2; width > 0; width /= 2) { \
		BARRIER(); \
		if (THREAD(0) < width) part[THREAD(0)] += part[THREAD(0) + width]; \
	}

KERNEL void product(const GLOBAL f32 *a, const GLOBAL f32 *b, GLOBAL f32 *sums, u32 n SHARED_PARAM(f32, part)) {
	SHARED_VAR(f32, part);
	u64 row = BLOCK(0) * n;
	f32 mine = 0;
	for (u64 j = THREAD(0); j < n; j += THREADS(0)) mine += a[row + j] * b[row + j];
	TOTAL(part, mine)
	if (THREAD(0) == 0) sums[BLOCK(0)] = part[0];
}

KERNEL void total(const GLOBAL f32 *sums, GLOBAL f32 *out, u32 n SHARED_PARAM(f32, part)) {
	SHARED_VAR(f32, part);
	f32 mine = 0;
	for (u64 j = THREAD(0); j < n; j += THREADS(0)) mine += sums[j];
	TOTAL(part, mine)
	if (THREAD(0) == 0) *out = part[0];
}

KERNEL void laplace(const GLOBAL f32 *p, GLOBAL f32 *q, u32 n, u32 rows, u32 above, u32 below) {
	u64 j = INDEX(0), i = INDEX(1);
	if (j >= n || i >= rows) return;
	u64 at = (i + above) * n + j;
	f32 v = 4 * p[at];
	if (i + above > 0) v -= p[at - n];
	if (j > 0) v -= p[at - 1];
	if (j < n - 1) v -= p[at + 1];
	if (i + 1 < rows + below) v -= p[at + n];
	q[i * n + j] = v;
}

KERNEL void advance(GLOBAL f32 *x, GLOBAL f32 *r, const GLOBAL f32 *p, const GLOBAL f32 *q, const GLOBAL f32 *rr, const GLOBAL f32 *pq, u32 n) {
	u64 i = INDEX(0);
	if (i >= n) return;
	f32 alpha = *rr / *pq;
	x[i] += alpha * p[i];
	r[i] -= alpha * q[i];
}

KERNEL void direct(GLOBAL f32 *p, const GLOBAL f32 *r, const GLOBAL f32 *now, const GLOBAL f32 *before, u32 n) {
	u64 i = INDEX(0);
	if (i < n) p[i] = r[i] + *now / *before * p[i];
}`

// total adds up numbers as TOTAL does, in the block's shared memory.
func total(b *kernel.Block, n int, number func(j int) float32) float32 {
	part := kernel.SharedSlice[float32](b)
	for t := range part {
		part[t] = 0
		for j := t; j < n; j += len(part) {
			part[t] += number(j)
		}
	}
	for half := len(part) / 2; half > 0; half /= 2 {
		for t := range half {
			part[t] += part[t+half]
		}
	}
	return part[0]
}

var program = kernel.New(kernel.Source{Name: "cg", Portable: Text, Go: kernel.Functions{
	"product": kernel.Go(func(b *kernel.Block) {
		x, y, sums, n := kernel.Slice[float32](b, 0), kernel.Slice[float32](b, 1), kernel.Slice[float32](b, 2), int(kernel.Number[uint32](b, 3))
		row := int(b.Index[0]) * n
		sums[b.Index[0]] = total(b, n, func(j int) float32 { return float32(x[row+j] * y[row+j]) })
	}),
	"total": kernel.Go(func(b *kernel.Block) {
		sums, out := kernel.Slice[float32](b, 0), kernel.Slice[float32](b, 1)
		out[0] = total(b, int(kernel.Number[uint32](b, 2)), func(j int) float32 { return sums[j] })
	}),
	"laplace": kernel.Go(func(b *kernel.Block) {
		p, q := kernel.Slice[float32](b, 0), kernel.Slice[float32](b, 1)
		n, rows := int(kernel.Number[uint32](b, 2)), int(kernel.Number[uint32](b, 3))
		above, below := int(kernel.Number[uint32](b, 4)), int(kernel.Number[uint32](b, 5))
		left, right := kernel.Threads(b, 0, n)
		top, bottom := kernel.Threads(b, 1, rows)
		for i := top; i < bottom; i++ {
			for j := left; j < right; j++ {
				at := (i+above)*n + j
				v := 4 * p[at]
				if i+above > 0 {
					v -= p[at-n]
				}
				if j > 0 {
					v -= p[at-1]
				}
				if j < n-1 {
					v -= p[at+1]
				}
				if i+1 < rows+below {
					v -= p[at+n]
				}
				q[i*n+j] = v
			}
		}
	}),
	"advance": kernel.Go(func(b *kernel.Block) {
		x, r, p, q := kernel.Slice[float32](b, 0), kernel.Slice[float32](b, 1), kernel.Slice[float32](b, 2), kernel.Slice[float32](b, 3)
		alpha := kernel.Slice[float32](b, 4)[0] / kernel.Slice[float32](b, 5)[0]
		for i, end := kernel.Threads(b, 0, len(x)); i < end; i++ {
			x[i] += float32(alpha * p[i])
			r[i] -= float32(alpha * q[i])
		}
	}),
	"direct": kernel.Go(func(b *kernel.Block) {
		p, r := kernel.Slice[float32](b, 0), kernel.Slice[float32](b, 1)
		beta := kernel.Slice[float32](b, 2)[0] / kernel.Slice[float32](b, 3)[0]
		for i, end := kernel.Threads(b, 0, len(p)); i < end; i++ {
			p[i] = r[i] + float32(beta*p[i])
		}
	}),
}})

var product, sum, laplace, advance, direct = program.Kernel("product"), program.Kernel("total"), program.Kernel("laplace"), program.Kernel("advance"), program.Kernel("direct")

// solver launches the kernels for all parts, and keeps the first error: after one it does nothing.
type solver struct {
	ctx   context.Context
	n     int
	parts []part
	err   error
}

func (s *solver) failed(errs ...error) bool {
	if s.err == nil {
		s.err = errors.Join(errs...)
	}
	return s.err != nil
}

// divide makes the parts of the vectors. A kernel reads its part of p with one more row at each side that has a neighbour: the halo.
func (s *solver) divide(x, r, p, q, sums numbers) {
	rows := func(v numbers, lo, hi int) numbers {
		part, err := v.Slice(max(lo, 0)*s.n, min(hi, s.n)*s.n)
		s.failed(err)
		return part
	}
	for i := range s.parts {
		part := &s.parts[i]
		lo, hi := part.lo, part.hi
		part.x, part.r, part.p, part.q, part.wide = rows(x, lo, hi), rows(r, lo, hi), rows(p, lo, hi), rows(q, lo, hi), rows(p, lo-1, hi+1)
		var err error
		part.sums, err = sums.Slice(lo, hi)
		s.failed(err)
	}
}

// each launches a kernel for every part.
func (s *solver) each(launch func(*part) error) {
	for i := range s.parts {
		if s.failed() {
			return
		}
		s.failed(launch(&s.parts[i]))
	}
}

// laplace makes q the Laplacian of p.
func (s *solver) laplace() {
	s.each(func(part *part) error {
		rows, above, below := part.hi-part.lo, min(part.lo, 1), min(s.n-part.hi, 1)
		return laplace.Launch(s.ctx, part.stream, hal.Over(s.n, rows), kernel.In(part.wide), kernel.Out(part.q), kernel.Value(uint32(s.n)),
			kernel.Value(uint32(rows)), kernel.Value(uint32(above)), kernel.Value(uint32(below)))
	})
}

// dot makes out the product of two vectors. Each device adds up its rows, and the first device adds the sums of all rows.
func (s *solver) dot(factors func(*part) (a, b numbers), sums, out numbers) {
	s.each(func(part *part) error {
		a, b := factors(part)
		return product.Launch(s.ctx, part.stream, hal.Blocks(part.hi-part.lo).Of(Threads), kernel.In(a), kernel.In(b), kernel.Out(part.sums),
			kernel.Value(uint32(s.n)), kernel.Shared(4*Threads))
	})
	if !s.failed() {
		s.failed(sum.Launch(s.ctx, s.parts[0].stream, hal.Blocks(1).Of(Threads), kernel.In(sums), kernel.Out(out), kernel.Value(uint32(s.n)), kernel.Shared(4*Threads)))
	}
}

// advance goes along p: x += α·p and r -= α·q.
func (s *solver) advance(rr, pq numbers) {
	s.each(func(part *part) error {
		return advance.Launch(s.ctx, part.stream, hal.Over(part.x.Len()), kernel.InOut(part.x), kernel.InOut(part.r), kernel.In(part.p), kernel.In(part.q),
			kernel.In(rr), kernel.In(pq), kernel.Value(uint32(part.x.Len())))
	})
}

// direct makes p the next direction.
func (s *solver) direct(now, before numbers) {
	s.each(func(part *part) error {
		return direct.Launch(s.ctx, part.stream, hal.Over(part.p.Len()), kernel.InOut(part.p), kernel.In(part.r), kernel.In(now), kernel.In(before),
			kernel.Value(uint32(part.p.Len())))
	})
}

// number waits for a buffer of one element and returns it.
func (s *solver) number(v numbers) float32 {
	if s.failed() {
		return 0
	}
	x, err := v.At(s.ctx, 0)
	s.failed(err)
	return x
}
