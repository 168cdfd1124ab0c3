// Heat spreads on a square, whose border is cold. Each rank has some rows, and of those each of its devices; a part is kept with a row more on each side,
// the halo, into which the neighbour's row is copied before each step.
#include <mpi.h>
#include "program.h"
#include "device.h"
#include "heat_kernels.h"

typedef struct {
	device d;
	cl_kernel spread;
	cl_mem now, next;
	int lo, rows; // of the whole square
	float *first, *last, *above, *below;
} part;

static part parts[2];
static int rank, ranks;

// exchange brings the halos of all parts up to date.
static void exchange(void) {
	int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
	size_t row = 4 * (size_t)n;
	part *top = parts, *bottom = parts + devices - 1;
	for (part *p = top; p <= bottom; p++) {
		if (p > top || up != MPI_PROC_NULL) to_host(p->d, p->now, row, p->first, row);
		if (p < bottom || down != MPI_PROC_NULL) to_host(p->d, p->now, p->rows * row, p->last, row);
	}
	MPI_Sendrecv(top->first, n, MPI_FLOAT, up, 0, bottom->below, n, MPI_FLOAT, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(bottom->last, n, MPI_FLOAT, down, 1, top->above, n, MPI_FLOAT, up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (part *p = top; p <= bottom; p++) {
		if (p > top || up != MPI_PROC_NULL) to_device(p->d, p->now, 0, p > top ? p[-1].last : p->above, row);
		if (p < bottom || down != MPI_PROC_NULL) to_device(p->d, p->now, (p->rows + 1) * row, p < bottom ? p[1].first : p->below, row);
	}
}

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	arguments(argc, argv);
	size_t row = 4 * (size_t)n;
	float *in = input(0, n * row), *out = memory(n * row);
	for (int i = 0; i < devices; i++) {
		part *p = parts + i;
		int all = ranks * devices, k = rank * devices + i;
		p->lo = (long)n * k / all, p->rows = (long)n * (k + 1) / all - p->lo;
		p->d = open_device(platforms[i], text);
		p->spread = kernel(p->d, "spread");
		p->now = buffer(p->d, (p->rows + 2) * row), p->next = buffer(p->d, (p->rows + 2) * row);
		p->first = memory(row), p->last = memory(row), p->above = memory(row), p->below = memory(row);
		set_int(p->spread, 2, n);
		float *cold = memory((p->rows + 2) * row);
		to_device(p->d, p->now, 0, cold, (p->rows + 2) * row);
		to_device(p->d, p->next, 0, cold, (p->rows + 2) * row);
		free(cold);
	}
	for (int run = 0; run <= repeats; run++) {
		MPI_Barrier(MPI_COMM_WORLD);
		double start = now();
		for (part *p = parts; p < parts + devices; p++) to_device(p->d, p->now, row, in + (size_t)p->lo * n, p->rows * row);
		for (int step = 0; step < steps; step++) {
			if (ranks * devices > 1) exchange();
			for (part *p = parts; p < parts + devices; p++) {
				set_buffer(p->spread, 0, p->now), set_buffer(p->spread, 1, p->next);
				launch(p->d, p->spread, n, p->rows, 0);
				flush(p->d);
				cl_mem swap = p->now;
				p->now = p->next, p->next = swap;
			}
		}
		for (part *p = parts; p < parts + devices; p++) to_host(p->d, p->now, row, out + (size_t)p->lo * n, p->rows * row);
		MPI_Barrier(MPI_COMM_WORLD);
		if (run > 0 && rank == 0) sample("run", now() - start);
	}
	for (part *p = parts; p < parts + devices; p++) output(p->lo * row, out + (size_t)p->lo * n, p->rows * row);
	MPI_Finalize();
	return 0;
}
