// Conjugate gradients on a square: the value of the matrix at each point is four times the point less its neighbours. Each device has some rows. The
// direction is kept with a row more on each side, the halo, and the first device adds up what the rows of all come to.
#include "program.h"
#include "device.h"
#include "cg_kernels.h"

enum { block = 64 };
enum { product, total, laplace, advance, direct };

typedef struct {
	int lo, rows;
	data x, r, p, q, sums, first, last;
} part;

static part parts[2];

// exchange brings the halos of the direction up to date.
static void exchange(void) {
	size_t row = 4 * (size_t)n;
	for (int i = 0; i < devices; i++) {
		part *p = parts + i;
		if (i > 0) copy(i, p->p, row, p->first, 0, row, STARPU_W);
		if (i < devices - 1) copy(i, p->p, p->rows * row, p->last, 0, row, STARPU_W);
	}
	for (int i = 0; i < devices; i++) {
		part *p = parts + i;
		if (i > 0) copy(i, p[-1].last, 0, p->p, 0, row, STARPU_RW);
		if (i < devices - 1) copy(i, p[1].first, 0, p->p, (p->rows + 1) * row, row, STARPU_RW);
	}
}

// dot is the product of the direction with q, or of r with itself.
static void dot(int direction, data out) {
	for (int i = 0; i < devices; i++) {
		part *p = parts + i;
		LAUNCH(i, product, block * p->rows, 1, block, n, direction ? n : 0, {direction ? p->p : p->r, STARPU_R}, {direction ? p->q : p->r, STARPU_R}, {p->sums, STARPU_RW});
	}
	for (int i = 1; i < devices; i++) copy(0, parts[i].sums, 0, parts->sums, 4 * parts[i].lo, 4 * parts[i].rows, STARPU_RW);
	LAUNCH(0, total, block, 1, block, n, 0, {parts->sums, STARPU_R}, {out, STARPU_W});
}

int main(int argc, char **argv) {
	arguments(argc, argv);
	size_t row = 4 * (size_t)n;
	char *in = input(0, n * row), *zeros = memory((n + 2) * row), *out = memory(n * row), *around = memory((n + 2) * row);
	open_devices(text, (const char *[]){"product", "total", "laplace", "advance", "direct", NULL});
	data rr = vector(NULL, 4), next = vector(NULL, 4), pq = vector(NULL, 4);
	for (int i = 0; i < devices; i++) {
		part *p = parts + i;
		p->lo = n * i / devices, p->rows = n * (i + 1) / devices - p->lo;
		p->x = vector(memory(p->rows * row), p->rows * row), p->r = vector(memory(p->rows * row), p->rows * row);
		p->p = vector(memory((p->rows + 2) * row), (p->rows + 2) * row), p->q = vector(NULL, p->rows * row);
		p->sums = vector(memory(row), row), p->first = vector(NULL, row), p->last = vector(NULL, row);
	}
	memcpy(around + row, in, n * row);
	for (int run = 0; run <= repeats; run++) {
		double start = now();
		for (part *p = parts; p < parts + devices; p++) {
			fill(p->x, zeros, p->rows * row);
			fill(p->r, in + p->lo * row, p->rows * row);
			fill(p->p, around + p->lo * row, (p->rows + 2) * row);
		}
		dot(0, rr);
		for (int step = 0; step < steps; step++) {
			if (devices > 1) exchange();
			for (int i = 0; i < devices; i++) LAUNCH(i, laplace, n, parts[i].rows, 0, n, 0, {parts[i].p, STARPU_R}, {parts[i].q, STARPU_W});
			dot(1, pq);
			for (int i = 0; i < devices; i++) {
				part *p = parts + i;
				LAUNCH(i, advance, (size_t)n * p->rows, 1, 0, n, 0, {p->x, STARPU_RW}, {p->r, STARPU_RW}, {p->p, STARPU_R}, {p->q, STARPU_R}, {rr, STARPU_R}, {pq, STARPU_R});
			}
			dot(0, next);
			for (int i = 0; i < devices; i++) {
				part *p = parts + i;
				LAUNCH(i, direct, (size_t)n * p->rows, 1, 0, n, 0, {p->p, STARPU_RW}, {p->r, STARPU_R}, {next, STARPU_R}, {rr, STARPU_R});
			}
			data swap = rr;
			rr = next, next = swap;
		}
		for (part *p = parts; p < parts + devices; p++) gather(p->x, 0, out + p->lo * row, p->rows * row);
		if (run > 0) sample("run", now() - start);
	}
	output(0, out, n * row);
	starpu_shutdown();
	return 0;
}
