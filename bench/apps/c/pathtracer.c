// A picture of spheres. Each device draws some of its rows.
#include "program.h"
#include "device.h"
#include "pathtracer_kernels.h"

typedef struct {
	device d;
	cl_kernel trace;
	cl_mem scene, picture;
	int lo, rows;
} part;

int main(int argc, char **argv) {
	arguments(argc, argv);
	enum { spheres = 6 };
	size_t row = 4 * (size_t)n;
	part parts[2], *end = parts + devices;
	float *scene = input(0, spheres * 9 * 4);
	char *picture = memory(n * row);
	for (int i = 0; i < devices; i++) {
		part *p = parts + i;
		p->d = open_device(platforms[i], text);
		p->lo = (long)n * i / devices, p->rows = (long)n * (i + 1) / devices - p->lo;
		p->scene = buffer(p->d, spheres * 9 * 4), p->picture = buffer(p->d, p->rows * row);
		p->trace = kernel(p->d, "trace");
		set_int(p->trace, 0, n), set_int(p->trace, 1, steps), set_int(p->trace, 2, p->lo), set_buffer(p->trace, 3, p->scene);
		set_int(p->trace, 4, spheres), set_buffer(p->trace, 5, p->picture);
	}
	for (int run = 0; run <= repeats; run++) {
		double start = now();
		for (part *p = parts; p < end; p++) {
			to_device(p->d, p->scene, 0, scene, spheres * 9 * 4);
			launch(p->d, p->trace, n, p->rows, 0);
			flush(p->d);
		}
		for (part *p = parts; p < end; p++) to_host(p->d, p->picture, 0, picture + p->lo * row, p->rows * row);
		if (run > 0) sample("run", now() - start);
	}
	output(0, picture, n * row);
	return 0;
}
