// Bodies that attract each other, each four numbers: a place and a mass. The threads of a block read the bodies in pieces that they share.
#include "program.h"
#include "device.h"

enum { block = 64 };

static const char *text =
	"kernel void move(global const float4 *old, global float *v, global float4 *now, int n, float dt) {\n"
	"	local float4 piece[64];\n"
	"	int i = get_global_id(0), me = get_local_id(0);\n"
	"	float4 b = i < n ? old[i] : (float4)(0);\n"
	"	float ax = 0, ay = 0, az = 0;\n"
	"	for (int from = 0; from < n; from += 64) {\n"
	"		piece[me] = from + me < n ? old[from + me] : (float4)(0);\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		for (int k = 0; k < 64; k++) {\n"
	"			float4 o = piece[k];\n"
	"			float dx = o.x - b.x, dy = o.y - b.y, dz = o.z - b.z;\n"
	"			float d = dx * dx + dy * dy + dz * dz + 0.01f, pull = o.w / (d * sqrt(d));\n"
	"			ax += dx * pull, ay += dy * pull, az += dz * pull;\n"
	"		}\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	}\n"
	"	if (i >= n) return;\n"
	"	v[3 * i] += ax * dt, v[3 * i + 1] += ay * dt, v[3 * i + 2] += az * dt;\n"
	"	now[i] = (float4)(b.x + v[3 * i] * dt, b.y + v[3 * i + 1] * dt, b.z + v[3 * i + 2] * dt, b.w);\n"
	"}\n";

int main(int argc, char **argv) {
	arguments(argc, argv);
	device d = open_device(platforms[0], text);
	size_t size = 16 * (size_t)n;
	cl_mem now_at = buffer(d, size), next = buffer(d, size), v = buffer(d, 12 * (size_t)n);
	cl_kernel move = kernel(d, "move");
	cl_float dt = 0.01f;
	set_buffer(move, 1, v), set_int(move, 3, n), set(move, 4, sizeof dt, &dt);
	float *bodies = input(0, size), *still = memory(12 * (size_t)n), *moved = memory(size);
	for (int run = 0; run <= repeats; run++) {
		double start = now();
		to_device(d, now_at, 0, bodies, size);
		to_device(d, v, 0, still, 12 * (size_t)n);
		for (int step = 0; step < steps; step++) {
			set_buffer(move, 0, now_at), set_buffer(move, 2, next);
			launch(d, move, (n + block - 1) / block * block, 1, block);
			cl_mem swap = now_at;
			now_at = next, next = swap;
		}
		to_host(d, now_at, 0, moved, size);
		if (run > 0) sample("run", now() - start);
	}
	output(0, moved, size);
	return 0;
}
