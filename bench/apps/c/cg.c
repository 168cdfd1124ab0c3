// Conjugate gradients on a square: the value of the matrix at each point is four times the point less its neighbours. Each rank has some rows, and of
// those each of its devices. The direction is kept with a row more on each side, the halo, and the first device of a rank adds up what its rows come to.
#include <mpi.h>
#include <stddef.h>
#include "program.h"
#include "device.h"
#include "cg_kernels.h"

enum { block = 64 };

typedef struct {
	device d;
	cl_kernel product, total, laplace, advance, direct;
	cl_mem x, r, p, q, sums, rr, next, pq;
	int lo, rows; // of the whole square
	float *first, *last, *above, *below;
} part;

static part parts[2];
static int rank, ranks;

// exchange brings the halos of the direction up to date.
static void exchange(void) {
	int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
	size_t row = 4 * (size_t)n;
	part *top = parts, *bottom = parts + devices - 1;
	for (part *p = top; p <= bottom; p++) {
		if (p > top || up != MPI_PROC_NULL) to_host(p->d, p->p, row, p->first, row);
		if (p < bottom || down != MPI_PROC_NULL) to_host(p->d, p->p, p->rows * row, p->last, row);
	}
	MPI_Sendrecv(top->first, n, MPI_FLOAT, up, 0, bottom->below, n, MPI_FLOAT, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(bottom->last, n, MPI_FLOAT, down, 1, top->above, n, MPI_FLOAT, up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (part *p = top; p <= bottom; p++) {
		if (p > top || up != MPI_PROC_NULL) to_device(p->d, p->p, 0, p > top ? p[-1].last : p->above, row);
		if (p < bottom || down != MPI_PROC_NULL) to_device(p->d, p->p, (p->rows + 1) * row, p < bottom ? p[1].first : p->below, row);
	}
}

// dot is the product of two vectors, of which the first may be the direction. Every device of every rank gets it.
static void dot(int direction, size_t other, size_t out) {
	float *sums = memory(4 * (size_t)n);
	for (part *p = parts; p < parts + devices; p++) {
		set_buffer(p->product, 0, direction ? p->p : p->r), set_buffer(p->product, 1, *(cl_mem *)((char *)p + other)), set_buffer(p->product, 2, p->sums);
		set_int(p->product, 3, n), set_int(p->product, 4, direction ? n : 0);
		launch(p->d, p->product, block * p->rows, 1, block);
		flush(p->d);
	}
	for (part *p = parts + 1; p < parts + devices; p++) {
		to_host(p->d, p->sums, 0, sums, 4 * p->rows);
		to_device(parts->d, parts->sums, 4 * (p->lo - parts->lo), sums, 4 * p->rows);
	}
	part *last = parts + devices - 1;
	cl_mem to = *(cl_mem *)((char *)parts + out);
	set_buffer(parts->total, 0, parts->sums), set_buffer(parts->total, 1, to), set_int(parts->total, 2, last->lo + last->rows - parts->lo);
	launch(parts->d, parts->total, block, 1, block);
	if (ranks * devices > 1) to_host(parts->d, to, 0, sums, 4);
	if (ranks > 1) MPI_Allreduce(MPI_IN_PLACE, sums, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	for (part *p = ranks > 1 ? parts : parts + 1; p < parts + devices; p++) to_device(p->d, *(cl_mem *)((char *)p + out), 0, sums, 4);
	free(sums);
}

#define DOT(direction, other, out) dot(direction, offsetof(part, other), offsetof(part, out))

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	arguments(argc, argv);
	size_t row = 4 * (size_t)n;
	float *in = input(0, n * row), *zeros = memory((n + 2) * row), *out = memory(n * row);
	for (int i = 0; i < devices; i++) {
		part *p = parts + i;
		int all = ranks * devices, k = rank * devices + i;
		p->lo = (long)n * k / all, p->rows = (long)n * (k + 1) / all - p->lo;
		device d = p->d = open_device(platforms[i], text);
		p->product = kernel(d, "product"), p->total = kernel(d, "total"), p->laplace = kernel(d, "laplace"), p->advance = kernel(d, "advance"), p->direct = kernel(d, "direct");
		p->x = buffer(d, p->rows * row), p->r = buffer(d, p->rows * row), p->q = buffer(d, p->rows * row), p->p = buffer(d, (p->rows + 2) * row);
		p->sums = buffer(d, row), p->rr = buffer(d, 4), p->next = buffer(d, 4), p->pq = buffer(d, 4);
		p->first = memory(row), p->last = memory(row), p->above = memory(row), p->below = memory(row);
		to_device(d, p->p, 0, zeros, (p->rows + 2) * row);
	}
	for (int run = 0; run <= repeats; run++) {
		MPI_Barrier(MPI_COMM_WORLD);
		double start = now();
		for (part *p = parts; p < parts + devices; p++) {
			to_device(p->d, p->x, 0, zeros, p->rows * row);
			to_device(p->d, p->r, 0, in + (size_t)p->lo * n, p->rows * row);
			to_device(p->d, p->p, row, in + (size_t)p->lo * n, p->rows * row);
		}
		DOT(0, r, rr);
		for (int step = 0; step < steps; step++) {
			if (ranks * devices > 1) exchange();
			for (part *p = parts; p < parts + devices; p++) {
				set_buffer(p->laplace, 0, p->p), set_buffer(p->laplace, 1, p->q), set_int(p->laplace, 2, n);
				launch(p->d, p->laplace, n, p->rows, 0);
			}
			DOT(1, q, pq);
			for (part *p = parts; p < parts + devices; p++) {
				set_buffer(p->advance, 0, p->x), set_buffer(p->advance, 1, p->r), set_buffer(p->advance, 2, p->p), set_buffer(p->advance, 3, p->q);
				set_buffer(p->advance, 4, p->rr), set_buffer(p->advance, 5, p->pq), set_int(p->advance, 6, n);
				launch(p->d, p->advance, (size_t)n * p->rows, 1, 0);
			}
			DOT(0, r, next);
			for (part *p = parts; p < parts + devices; p++) {
				set_buffer(p->direct, 0, p->p), set_buffer(p->direct, 1, p->r), set_buffer(p->direct, 2, p->next), set_buffer(p->direct, 3, p->rr), set_int(p->direct, 4, n);
				launch(p->d, p->direct, (size_t)n * p->rows, 1, 0);
				flush(p->d);
				cl_mem swap = p->rr;
				p->rr = p->next, p->next = swap;
			}
		}
		for (part *p = parts; p < parts + devices; p++) to_host(p->d, p->x, 0, out + (size_t)p->lo * n, p->rows * row);
		MPI_Barrier(MPI_COMM_WORLD);
		if (run > 0 && rank == 0) sample("run", now() - start);
	}
	for (part *p = parts; p < parts + devices; p++) output(p->lo * row, out + (size_t)p->lo * n, p->rows * row);
	MPI_Finalize();
	return 0;
}
