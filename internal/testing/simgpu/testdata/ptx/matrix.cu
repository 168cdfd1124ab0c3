/* c = a * b for square matrices whose side is a multiple of 8. */
extern "C" __global__ void matrix(float *c, const float *a, const float *b, int n) {
    __shared__ float ta[8][8], tb[8][8];
    int x = threadIdx.x, y = threadIdx.y;
    int col = blockIdx.x * 8 + x, row = blockIdx.y * 8 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 8) {
        ta[y][x] = a[row * n + k + x];
        tb[y][x] = b[(k + y) * n + col];
        __syncthreads();
        for (int i = 0; i < 8; i++)
            sum += ta[y][i] * tb[i][x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
