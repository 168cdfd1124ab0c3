// The kernels of heat, which the program by hand and that of StarPU have in common.
static const char *text =
	"kernel void spread(global const float *from, global float *to, int n) {\n"
	"	size_t j = get_global_id(0), at = (get_global_id(1) + 1) * n + j;\n"
	"	float left = j > 0 ? from[at - 1] : 0, right = j < n - 1 ? from[at + 1] : 0;\n"
	"	to[at] = from[at] + 0.1f * (from[at - n] + from[at + n] + left + right - 4 * from[at]);\n"
	"}\n";
