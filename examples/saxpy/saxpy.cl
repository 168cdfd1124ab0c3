// y = a*x + y. xo and yo are where the elements start in memory that has no address.
kernel void saxpy(float a, global const float *x, ulong xo, global float *y, ulong yo) {
	size_t i = get_global_id(0);
	y[yo + i] += a * x[xo + i];
}
