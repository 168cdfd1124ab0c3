// The suite's kernels for Vulkan, whose drivers have no compiler for source text. ../kernelvulkan.go is made of this file by "generate" beside it.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(constant_id = 3) const uint shared_bytes = 4;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U32 { uint32_t v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer U64 { uint64_t v[]; };
struct mixed { uint64_t a; uint32_t b; uint8_t c; uint8_t gap; uint16_t d; float e[3]; uint8_t f; uint8_t tail[3]; };
#define PARAMS layout(push_constant, scalar) uniform P
uint64_t index(uint d) { return uint64_t(gl_WorkGroupID[d]) * gl_WorkGroupSize[d] + gl_LocalInvocationID[d]; }
#ifdef put
PARAMS { U32 y; uint32_t v; uint32_t n; };
void main() { if (index(0) < n) y.v[uint(index(0))] = v; }
#endif
#ifdef add
PARAMS { U32 x; U32 y; uint32_t v; uint32_t n; };
void main() { if (index(0) < n) y.v[uint(index(0))] = x.v[uint(index(0))] + v; }
#endif
#ifdef first_or_none
PARAMS { U32 x; U32 y; uint32_t n; };
void main() {
	uint32_t v = 1;
	if (n > 0) v += x.v[0];
	y.v[uint(index(0))] = v;
}
#endif
#ifdef scalars
PARAMS { U64 y; uint8_t a; uint16_t b; uint32_t c; uint64_t d; float e; int8_t f; };
void main() {
	if (index(0) != 0) return;
	y.v[0] = a; y.v[1] = b; y.v[2] = c; y.v[3] = d; y.v[4] = floatBitsToUint(e); y.v[5] = uint64_t(int64_t(f));
}
#endif
#ifdef members
PARAMS { U64 y; mixed m; };
void main() {
	if (index(0) != 0) return;
	y.v[0] = m.a; y.v[1] = m.b; y.v[2] = m.c; y.v[3] = m.d;
	y.v[4] = floatBitsToUint(m.e[0]); y.v[5] = floatBitsToUint(m.e[2]); y.v[6] = m.f;
}
#endif
#ifdef visit
PARAMS { U32 y; };
void main() {
	uvec3 B = gl_NumWorkGroups, T = gl_WorkGroupSize, b = gl_WorkGroupID, t = gl_LocalInvocationID;
	uint64_t nx = uint64_t(B.x) * T.x, ny = uint64_t(B.y) * T.y;
	uint64_t i = index(0) + nx * (index(1) + ny * index(2));
	y.v[uint(i)] += 1 + ((b.x + B.x * (b.y + B.y * b.z)) << 20) + ((t.x + T.x * (t.y + T.y * t.z)) << 8);
}
#endif
#ifdef turn
PARAMS { U32 y; };
shared uint32_t tile[shared_bytes / 4];
void main() {
	uint t = gl_LocalInvocationID.x, n = gl_WorkGroupSize.x;
	for (uint round = 0; round < 3; round++) {
		tile[t] = y.v[uint(index(0))];
		barrier();
		y.v[uint(index(0))] = tile[n - 1 - t] + 1;
		barrier();
	}
}
#endif
#ifdef shift
PARAMS { U32 x; U32 y; };
shared uint32_t s[shared_bytes / 4];
void main() {
	uint t = gl_LocalInvocationID.x, n = gl_WorkGroupSize.x;
	s[t] = x.v[uint(index(0))];
	barrier();
	uint v = s[(t + 1) % n];
	barrier();
	s[t] = v;
	barrier();
	y.v[uint(index(0))] = s[t];
}
#endif
#ifdef shift_buffer
PARAMS { U32 y; };
void main() {
	uint t = gl_LocalInvocationID.x, n = gl_WorkGroupSize.x;
	uint first = uint(index(0)) - t;
	uint v = y.v[first + (t + 1) % n];
	memoryBarrierBuffer();
	barrier();
	y.v[first + t] = v;
}
#endif
#ifdef count
PARAMS { U32 y; };
void main() { atomicAdd(y.v[uint(index(0) % 7)], 1u); }
#endif
