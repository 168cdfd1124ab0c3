// A kernel whose parameters are more than 128 bytes, for the tests of backends/vulkan.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 1) in;
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer U32 { uint32_t v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer U64 { uint64_t v[]; };
#ifdef wide
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer halyard_arguments {
	U64 y; uint8_t a; uint16_t b; uint32_t c; uint64_t d[16]; U32 z;
};
layout(push_constant, scalar) uniform P { halyard_arguments p; };
void main() {
	p.y.v[0] = p.a; p.y.v[1] = p.b; p.y.v[2] = p.c;
	for (uint i = 0; i < 16; i++) p.y.v[3 + i] = p.d[i];
	p.z.v[0] = p.c;
}
#endif
