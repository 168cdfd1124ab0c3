// Bodies that attract each other, each four numbers: a place and a mass. The threads of a block read the bodies in pieces that they share.
// Each device moves a part of the bodies and reads all of them, so after each step it gets the places that the others have written.
#include "program.h"
#include "device.h"

enum { block = 64 };

static const char *text =
	"#ifndef FLOAT4\n"
	"#define FLOAT4(x, y, z, w) (float4)(x, y, z, w)\n"
	"#endif\n"
	"kernel void move(global const float4 *old, global float *v, global float4 *now, int n, float dt) {\n"
	"	local float4 piece[64];\n"
	"	int i = get_global_id(0), me = get_local_id(0);\n"
	"	float4 b = i < n ? old[i] : FLOAT4(0, 0, 0, 0);\n"
	"	float ax = 0, ay = 0, az = 0;\n"
	"	for (int from = 0; from < n; from += 64) {\n"
	"		piece[me] = from + me < n ? old[from + me] : FLOAT4(0, 0, 0, 0);\n"
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
	"	now[i] = FLOAT4(b.x + v[3 * i] * dt, b.y + v[3 * i + 1] * dt, b.z + v[3 * i + 2] * dt, b.w);\n"
	"}\n";

typedef struct {
	device d;
	cl_kernel move;
	cl_mem now, next, v;
	size_t lo, count;
} part;

int main(int argc, char **argv) {
	arguments(argc, argv);
	size_t size = 16 * (size_t)n;
	part parts[2], *end = parts + devices;
	cl_float dt = 0.01f;
	for (int i = 0; i < devices; i++) {
		part *p = parts + i;
		p->d = open_device(platforms[i], text);
		p->lo = (size_t)n * i / devices, p->count = (size_t)n * (i + 1) / devices - p->lo;
		p->now = buffer(p->d, size), p->next = buffer(p->d, size), p->v = buffer(p->d, 12 * (size_t)n);
		p->move = kernel(p->d, "move");
		set_buffer(p->move, 1, p->v), set_int(p->move, 3, n), set(p->move, 4, sizeof dt, &dt);
	}
	float *bodies = input(0, size), *still = memory(12 * (size_t)n), *moved = memory(size);
	for (int run = 0; run <= repeats; run++) {
		double start = now();
		for (part *p = parts; p < end; p++) {
			to_device(p->d, p->now, 0, bodies, size);
			to_device(p->d, p->v, 0, still, 12 * (size_t)n);
		}
		for (int step = 0; step < steps; step++) {
			for (part *p = parts; p < end; p++) {
				// What the last block moves beyond the part is replaced by what the other device has written.
				size_t from[2] = {p->lo, 0}, size[2] = {(p->count + block - 1) / block * block, 1};
				set_buffer(p->move, 0, p->now), set_buffer(p->move, 2, p->next);
				launch_from(p->d, p->move, from, size, block);
				flush(p->d);
				cl_mem swap = p->now;
				p->now = p->next, p->next = swap;
			}
			if (devices == 1 || step == steps - 1) continue;
			for (part *p = parts; p < end; p++) to_host(p->d, p->now, 16 * p->lo, moved + 4 * p->lo, 16 * p->count);
			for (part *p = parts; p < end; p++) {
				for (part *o = parts; o < end; o++) {
					if (o != p) to_device(p->d, p->now, 16 * o->lo, moved + 4 * o->lo, 16 * o->count);
				}
			}
		}
		for (part *p = parts; p < end; p++) to_host(p->d, p->now, 16 * p->lo, moved + 4 * p->lo, 16 * p->count);
		if (run > 0) sample("run", now() - start);
	}
	output(0, moved, size);
	return 0;
}
