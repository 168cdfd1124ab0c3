// Heat spreads on a square, whose border is cold. Each device has some rows, which are kept with a row more on each side, the halo, into which tasks copy the
// neighbour's row before each step.
#include "program.h"
#include "device.h"
#include "heat_kernels.h"

enum { spread };

typedef struct {
	int lo, rows;
	data now, next, first, last;
} part;

static part parts[2];

// exchange brings the halos of all parts up to date.
static void exchange(void) {
	size_t row = 4 * (size_t)n;
	for (int i = 0; i < devices; i++) {
		part *p = parts + i;
		if (i > 0) copy(i, p->now, row, p->first, 0, row, STARPU_W);
		if (i < devices - 1) copy(i, p->now, p->rows * row, p->last, 0, row, STARPU_W);
	}
	for (int i = 0; i < devices; i++) {
		part *p = parts + i;
		if (i > 0) copy(i, p[-1].last, 0, p->now, 0, row, STARPU_RW);
		if (i < devices - 1) copy(i, p[1].first, 0, p->now, (p->rows + 1) * row, row, STARPU_RW);
	}
}

int main(int argc, char **argv) {
	arguments(argc, argv);
	size_t row = 4 * (size_t)n;
	char *in = memory((n + 2) * row), *out = memory(n * row), *square = input(0, n * row);
	memcpy(in + row, square, n * row); // with the cold border above and below
	open_devices(text, (const char *[]){"spread", NULL});
	for (int i = 0; i < devices; i++) {
		part *p = parts + i;
		p->lo = n * i / devices, p->rows = n * (i + 1) / devices - p->lo;
		p->now = vector(memory((p->rows + 2) * row), (p->rows + 2) * row), p->next = vector(memory((p->rows + 2) * row), (p->rows + 2) * row);
		p->first = vector(NULL, row), p->last = vector(NULL, row);
	}
	for (int run = 0; run <= repeats; run++) {
		double start = now();
		for (part *p = parts; p < parts + devices; p++) fill(p->now, in + p->lo * row, (p->rows + 2) * row);
		for (int step = 0; step < steps; step++) {
			if (devices > 1) exchange();
			for (int i = 0; i < devices; i++) {
				part *p = parts + i;
				LAUNCH(i, spread, n, p->rows, 0, n, 0, {p->now, STARPU_R}, {p->next, STARPU_RW}); // its halo stays
				data swap = p->now;
				p->now = p->next, p->next = swap;
			}
		}
		for (part *p = parts; p < parts + devices; p++) gather(p->now, row, out + p->lo * row, p->rows * row);
		if (run > 0) sample("run", now() - start);
	}
	output(0, out, n * row);
	starpu_shutdown();
	return 0;
}
