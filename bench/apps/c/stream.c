// BabelStream's kernels, written to its description: copy, mul, add, triad, nstream and dot on arrays of doubles. Each device has a part of the arrays.
#include "program.h"
#include "device.h"

enum { groups = 64, group = 64 };

static const char *text =
	"kernel void copy(global const double *a, global double *c) { size_t i = get_global_id(0); c[i] = a[i]; }\n"
	"kernel void mul(global double *b, global const double *c) { size_t i = get_global_id(0); b[i] = 0.4 * c[i]; }\n"
	"kernel void add(global const double *a, global const double *b, global double *c) { size_t i = get_global_id(0); c[i] = a[i] + b[i]; }\n"
	"kernel void triad(global double *a, global const double *b, global const double *c) { size_t i = get_global_id(0); a[i] = b[i] + 0.4 * c[i]; }\n"
	"kernel void nstream(global double *a, global const double *b, global const double *c) { size_t i = get_global_id(0); a[i] += b[i] + 0.4 * c[i]; }\n"
	"kernel void inner(global const double *a, global const double *b, global double *sums, int n) {\n"
	"	local double part[64];\n"
	"	size_t me = get_local_id(0);\n"
	"	double sum = 0;\n"
	"	for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) sum += a[i] * b[i];\n"
	"	part[me] = sum;\n"
	"	for (size_t width = get_local_size(0) / 2; width > 0; width /= 2) {\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		if (me < width) part[me] += part[me + width];\n"
	"	}\n"
	"	if (me == 0) sums[get_group_id(0)] = part[0];\n"
	"}\n";

static const char *names[] = {"copy", "mul", "add", "triad", "nstream"};

typedef struct {
	device d;
	cl_mem arrays[3], sums; // a, b and c
	cl_kernel kernels[5], inner;
	int lo, count;
} part;

static part open_part(int i) {
	part p = {.d = open_device(platforms[i], text), .lo = (long)n * i / devices};
	p.count = (long)n * (i + 1) / devices - p.lo;
	size_t bytes = p.count * sizeof(double);
	double *host = memory(bytes);
	for (int k = 0; k < 3; k++) {
		p.arrays[k] = buffer(p.d, bytes);
		for (int j = 0; k < 2 && j < p.count; j++) host[j] = k ? 0.2 : 0.1;
		if (k < 2) to_device(p.d, p.arrays[k], 0, host, bytes);
	}
	free(host);
	p.sums = buffer(p.d, groups * sizeof(double));
	cl_mem a = p.arrays[0], b = p.arrays[1], c = p.arrays[2];
	for (int k = 0; k < 5; k++) p.kernels[k] = kernel(p.d, names[k]);
	set_buffer(p.kernels[0], 0, a), set_buffer(p.kernels[0], 1, c);
	set_buffer(p.kernels[1], 0, b), set_buffer(p.kernels[1], 1, c);
	for (int k = 2; k < 5; k++) set_buffer(p.kernels[k], 0, a), set_buffer(p.kernels[k], 1, b), set_buffer(p.kernels[k], 2, c);
	p.inner = kernel(p.d, "inner");
	set_buffer(p.inner, 0, a), set_buffer(p.inner, 1, b), set_buffer(p.inner, 2, p.sums), set_int(p.inner, 3, p.count);
	return p;
}

int main(int argc, char **argv) {
	arguments(argc, argv);
	part parts[2], *end = parts + devices;
	for (int i = 0; i < devices; i++) parts[i] = open_part(i);
	double sums[groups], dot = 0;
	for (int step = 0; step < steps; step++) {
		for (int k = 0; k < 5; k++) {
			double start = now();
			for (part *p = parts; p < end; p++) {
				launch(p->d, p->kernels[k], p->count, 1, 0);
				flush(p->d);
			}
			for (part *p = parts; p < end; p++) finish(p->d);
			if (step > 0) sample(names[k], now() - start);
		}
		double start = now();
		for (part *p = parts; p < end; p++) {
			launch(p->d, p->inner, groups * group, 1, group);
			flush(p->d);
		}
		dot = 0;
		for (part *p = parts; p < end; p++) {
			to_host(p->d, p->sums, 0, sums, sizeof sums);
			for (int i = 0; i < groups; i++) dot += sums[i];
		}
		if (step > 0) sample("dot", now() - start);
	}
	double *host = memory(n * sizeof(double));
	for (int k = 0; k < 3; k++) {
		for (part *p = parts; p < end; p++) to_host(p->d, p->arrays[k], 0, host + p->lo, p->count * sizeof(double));
		output(k * n * sizeof(double), host, n * sizeof(double));
	}
	output(3 * n * sizeof(double), &dot, sizeof dot);
	return 0;
}
