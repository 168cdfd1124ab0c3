// Points of eight numbers are divided into 32 clusters by Lloyd's method. Of two devices each adds up a part of the points, and the host moves the sums of the
// second to the first.
#include "program.h"
#include "device.h"
#include "kmeans_kernels.h"

enum { k = 32, threads = 1024 };

typedef struct {
	device d;
	cl_kernel clear, add, move;
	cl_mem points, centres, sums;
	int lo, count, threads;
} part;

int main(int argc, char **argv) {
	arguments(argc, argv);
	size_t point = 32, sum = 4 * k * 9;
	part parts[2], *end = parts + devices;
	for (int i = 0; i < devices; i++) {
		part *p = parts + i;
		p->d = open_device(platforms[i], text);
		p->lo = (long)n * i / devices, p->count = (long)n * (i + 1) / devices - p->lo, p->threads = threads / devices;
		p->points = buffer(p->d, p->count * point), p->centres = buffer(p->d, k * point), p->sums = buffer(p->d, threads * sum);
		p->clear = kernel(p->d, "clear"), p->add = kernel(p->d, "add"), p->move = kernel(p->d, "move");
		set_buffer(p->clear, 0, p->sums);
		set_buffer(p->add, 0, p->points), set_buffer(p->add, 1, p->centres), set_buffer(p->add, 2, p->sums), set_int(p->add, 3, p->count);
		set_buffer(p->move, 0, p->sums), set_buffer(p->move, 1, p->centres), set_int(p->move, 2, threads);
	}
	char *in = input(0, n * point), *sums = memory(threads * sum);
	float *centres = memory(k * point);
	for (int run = 0; run <= repeats; run++) {
		double start = now();
		for (part *p = parts; p < end; p++) {
			to_device(p->d, p->points, 0, in + p->lo * point, p->count * point);
			to_device(p->d, p->centres, 0, in, k * point);
		}
		for (int step = 0; step < steps; step++) {
			for (part *p = parts; p < end; p++) {
				launch(p->d, p->clear, p->threads * sum / 4, 1, 0);
				launch(p->d, p->add, p->threads, 1, 0);
				flush(p->d);
			}
			for (part *p = parts + 1; p < end; p++) {
				to_host(p->d, p->sums, 0, sums, p->threads * sum);
				to_device(parts->d, parts->sums, parts->threads * sum, sums, p->threads * sum);
			}
			launch(parts->d, parts->move, 8, k, 0);
			if (devices > 1 || step == steps - 1) to_host(parts->d, parts->centres, 0, centres, k * point);
			for (part *p = parts + 1; p < end; p++) to_device(p->d, p->centres, 0, centres, k * point);
		}
		if (run > 0) sample("run", now() - start);
	}
	output(0, centres, k * point);
	return 0;
}
