// A kernel of five buffers, of which it reads four.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x_id = 0) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant, scalar) uniform P { F32 a; F32 b; F32 c; F32 d; F32 to; uint n; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i < n) to.v[i] = a.v[i] + b.v[i] + c.v[i] + d.v[i];
}
