// BabelStream's kernels, written to its description: copy, mul, add, triad, nstream and dot on arrays of doubles.
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

int main(int argc, char **argv) {
	arguments(argc, argv);
	device d = open_device(platforms[0], text);
	size_t bytes = n * sizeof(double);
	cl_mem a = buffer(d, bytes), b = buffer(d, bytes), c = buffer(d, bytes), sums = buffer(d, groups * sizeof(double));
	double *host = memory(bytes), parts[groups], dot = 0;
	for (int i = 0; i < n; i++) host[i] = 0.1;
	to_device(d, a, 0, host, bytes);
	for (int i = 0; i < n; i++) host[i] = 0.2;
	to_device(d, b, 0, host, bytes);

	cl_kernel copy = kernel(d, "copy"), mul = kernel(d, "mul"), add = kernel(d, "add"), triad = kernel(d, "triad"), nstream = kernel(d, "nstream"), inner = kernel(d, "inner");
	set_buffer(copy, 0, a), set_buffer(copy, 1, c);
	set_buffer(mul, 0, b), set_buffer(mul, 1, c);
	set_buffer(add, 0, a), set_buffer(add, 1, b), set_buffer(add, 2, c);
	set_buffer(triad, 0, a), set_buffer(triad, 1, b), set_buffer(triad, 2, c);
	set_buffer(nstream, 0, a), set_buffer(nstream, 1, b), set_buffer(nstream, 2, c);
	set_buffer(inner, 0, a), set_buffer(inner, 1, b), set_buffer(inner, 2, sums), set_int(inner, 3, n);
	struct {
		const char *name;
		cl_kernel kernel;
	} all[] = {{"copy", copy}, {"mul", mul}, {"add", add}, {"triad", triad}, {"nstream", nstream}};
	for (int step = 0; step < steps; step++) {
		for (int k = 0; k < 5; k++) {
			double start = now();
			launch(d, all[k].kernel, n, 1, 0);
			finish(d);
			if (step > 0) sample(all[k].name, now() - start);
		}
		double start = now();
		launch(d, inner, groups * group, 1, group);
		to_host(d, sums, 0, parts, sizeof parts);
		dot = 0;
		for (int i = 0; i < groups; i++) dot += parts[i];
		if (step > 0) sample("dot", now() - start);
	}
	cl_mem arrays[] = {a, b, c};
	for (int i = 0; i < 3; i++) {
		to_host(d, arrays[i], 0, host, bytes);
		output(i * bytes, host, bytes);
	}
	output(3 * bytes, &dot, sizeof dot);
	return 0;
}
