// The Mandelbrot set: how many steps each point of a picture takes to leave.
#include "program.h"
#include "device.h"

static const char *text =
	"#pragma OPENCL FP_CONTRACT OFF\n"
	"kernel void mandelbrot(global ushort *out, int n, int limit) {\n"
	"	size_t px = get_global_id(0), py = get_global_id(1);\n"
	"	float step = 2.4f / n, a = -1.7f + step * px, b = -1.2f + step * py, x = 0, y = 0;\n"
	"	int count = 0;\n"
	"	while (count < limit && x * x + y * y <= 4.0f) {\n"
	"		float t = x * x - y * y + a;\n"
	"		y = 2.0f * x * y + b;\n"
	"		x = t;\n"
	"		count++;\n"
	"	}\n"
	"	out[py * n + px] = count;\n"
	"}\n";

int main(int argc, char **argv) {
	arguments(argc, argv);
	device d[2];
	cl_kernel k[2];
	cl_mem out[2];
	int first[3];
	for (int i = 0; i < devices; i++) {
		first[i] = n / devices * i;
		d[i] = open_device(platforms[i], text);
		k[i] = kernel(d[i], "mandelbrot");
		out[i] = buffer(d[i], 2 * (size_t)n * n);
		set_buffer(k[i], 0, out[i]), set_int(k[i], 1, n), set_int(k[i], 2, steps);
	}
	first[devices] = n;
	unsigned short *host = memory(2 * (size_t)n * n);
	for (int run = 0; run <= repeats; run++) {
		double start = now();
		for (int i = 0; i < devices; i++) {
			size_t offset[] = {0, first[i]}, size[] = {n, first[i + 1] - first[i]};
			launch_from(d[i], k[i], offset, size, 0);
			flush(d[i]);
		}
		for (int i = 0; i < devices; i++) {
			size_t offset = 2 * (size_t)n * first[i];
			to_host(d[i], out[i], offset, (char *)host + offset, 2 * (size_t)n * (first[i + 1] - first[i]));
		}
		if (run > 0) sample("run", now() - start);
	}
	output(0, host, 2 * (size_t)n * n);
	return 0;
}
