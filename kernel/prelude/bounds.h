
/* What halyard kernels writes at the end of parameters and arguments. With HALYARD_PARTS a launch runs a part of a grid. The last argument of the kernel
   says which block is the first, and how many blocks the whole grid has. */
#ifdef HALYARD_PARTS
typedef struct { u32 first[3], blocks[3]; } go_part_t;
#define GO_PART , go_part_t go_part
#define GO_PART_ALONE go_part_t go_part
#define GO_PASS_PART , go_part
#define GO_PASS_PART_ALONE go_part
#undef BLOCK
#undef BLOCKS
#undef INDEX
#ifdef HALYARD_OPENCL
#define BLOCK(d) (go_part.first[d] + (u64)get_group_id(d))
#else
#define BLOCK(d) (go_part.first[d] + halyard_block(d))
#endif
#define BLOCKS(d) ((u64)go_part.blocks[d])
#define INDEX(d) (BLOCK(d) * THREADS(d) + THREAD(d))
#else
#define GO_PART
#define GO_PART_ALONE
#define GO_PASS_PART
#define GO_PASS_PART_ALONE
#endif
/* What halyard kernels writes around indexes. With HALYARD_BOUNDS the first index out of range is written into the argument before that, and the
   index is 0 instead: what is indexed has at least one element. A divisor of 0 and a negative count of a shift are written there too. With HALYARD_ROUNDS kernels look at their end whether the device still runs loops: a driver
   that ends those of a thread after some number of rounds does not run one of two rounds either. No compiler knows that there are two. */
#if defined(HALYARD_BOUNDS) || defined(HALYARD_ROUNDS) || defined(HALYARD_PRINT)
#define GO_FAULTS , GLOBAL u32 *go_faults GO_PART
#define GO_FAULTS_ALONE GLOBAL u32 *go_faults GO_PART
#define GO_PASS , go_faults GO_PASS_PART
#define GO_PASS_ALONE go_faults GO_PASS_PART
#define GO_LOOPED go_looped(go_faults);
FUNCTION void go_looped(GLOBAL u32 *faults) {
	u32 n = faults[10] + 2u, sum = 0u;
	for (u32 i = 0u; i < n; i++) sum = sum * 3u + 1u;
	if (sum != 4u) {
		if (ATOMIC_CAS(faults, 0u, 3u) == 0u) faults[1] = 0u;
	}
}
#else
#define GO_FAULTS GO_PART
#define GO_FAULTS_ALONE GO_PART_ALONE
#define GO_PASS GO_PASS_PART
#define GO_PASS_ALONE GO_PASS_PART_ALONE
#define GO_LOOPED
#endif
/* Indexes and counters have 32 bits, unless a launch needs more, or indexes that are not in range are to be reported. In OpenCL they have 64: compilers for
   processors see that threads read elements side by side only if no index wraps around at 32 bits. Tests define GO_NARROW. */
#if defined(HALYARD_WIDE) || defined(HALYARD_BOUNDS) || defined(HALYARD_ROUNDS) || defined(HALYARD_PRINT) || defined(HALYARD_OPENCL) && !defined(GO_NARROW)
#define GO_INT i64
#define GO_UINT u64
#else
#define GO_INT i32
#define GO_UINT u32
#endif
/* With HALYARD_PRINT lines follow what is reported: how many there are, and for each the number of its text, the block, the thread, and up to 8 numbers.
   Of a launch 1000 are kept. */
#ifdef HALYARD_PRINT
FUNCTION GLOBAL u32 *go_print(u32 text GO_FAULTS) {
	u32 n = ATOMIC_ADD(go_faults + 11, 1u);
	GLOBAL u32 *line = go_faults + 12 + (n < 1000u ? n : 1000u) * 23u;
	line[0] = text;
	for (i32 d = 0; d < 3; d++) {
		line[1 + d] = (u32)BLOCK(d);
		line[4 + d] = (u32)THREAD(d);
	}
	return line;
}
FUNCTION void go_printed(GLOBAL u32 *at, u64 v) {
	at[0] = (u32)v;
	at[1] = (u32)(v >> 32);
}
#endif
#ifdef HALYARD_BOUNDS
#define GO_AT(i, n, site) go_at((i64)(i), (i64)(n), site, go_faults)
#define GO_UPTO(i, n, site) go_upto((i64)(i), (i64)(n), site, go_faults)
#define GO_BY(y, site) go_by((i64)(y), site, go_faults)
#define GO_SHIFT(n, site) go_shift((i64)(n), site, go_faults)
#define GO_CELL(i, j, n, m, site) go_cell((i64)(i), (i64)(j), (i64)(n), (i64)(m), site, go_faults)
FUNCTION void go_wide(GLOBAL u32 *at, i64 v) {
	at[0] = (u32)v;
	at[1] = (u32)((u64)v >> 32);
}
FUNCTION i64 go_outside(i64 i, i64 n, u32 kind, u32 site, GLOBAL u32 *faults) {
	if (ATOMIC_CAS(faults, 0u, kind) == 0u) {
		faults[1] = site;
		go_wide(faults + 2, i);
		go_wide(faults + 4, n);
	}
	return 0;
}
FUNCTION i64 go_at(i64 i, i64 n, u32 site, GLOBAL u32 *faults) {
	if ((u64)i < (u64)n) return i;
	return go_outside(i, n, 1u, site, faults);
}
FUNCTION i64 go_upto(i64 i, i64 n, u32 site, GLOBAL u32 *faults) {
	if ((u64)i <= (u64)n) return i;
	return go_outside(i, n, 4u, site, faults);
}
FUNCTION i64 go_asked(i64 v, int bad, u32 kind, u32 site, GLOBAL u32 *faults) {
	if (bad) go_outside(v, 0, kind, site, faults);
	return v;
}
FUNCTION i64 go_by(i64 y, u32 site, GLOBAL u32 *faults) { return go_asked(y, y == 0, 5u, site, faults); }
FUNCTION i64 go_shift(i64 n, u32 site, GLOBAL u32 *faults) { return go_asked(n, n < 0, 6u, site, faults); }
FUNCTION i64 go_cell(i64 i, i64 j, i64 n, i64 m, u32 site, GLOBAL u32 *faults) {
	if ((u64)i < (u64)n && (u64)j < (u64)m) return i * m + j;
	if (ATOMIC_CAS(faults, 0u, 2u) == 0u) {
		faults[1] = site;
		go_wide(faults + 2, i);
		go_wide(faults + 4, n);
		go_wide(faults + 6, j);
		go_wide(faults + 8, m);
	}
	return 0;
}
#else
#define GO_AT(i, n, site) (i)
#define GO_UPTO(i, n, site) (i)
#define GO_BY(y, site) (y)
#define GO_SHIFT(n, site) (n)
#define GO_CELL(i, j, n, m, site) ((i64)((u64)(i) * (u64)(m) + (u64)(j)))
#endif
#ifdef HALYARD_BOUNDS
#define GO_CELL_OF GO_CELL
#else
#define GO_CELL_OF(i, j, n, m, site) ((GO_INT)((GO_UINT)(i) * (GO_UINT)(m) + (GO_UINT)(j)))
#endif
/* A kernel that reads neighbouring numbers is compiled twice for CUDA: its body for pointers that are multiples of 16 bytes, and for others. In front of a
   short loop that reads all of an element there, the element is copied, so that it is loaded by a few wide loads. GO_EIGHT unrolls such a loop of a fast kernel. AMD's
   compiler needs none of this. */
#if defined(HALYARD_CUDA) && !defined(HALYARD_BOUNDS)
#define GO_BODY static __device__ __forceinline__
#define GO_ALIGNED(p) __builtin_assume_aligned(p, 16)
#define GO_COPY(T, name, x) T name = x;
#define GO_COPIED(name, x) name
#define GO_EIGHT _Pragma("unroll 8")
#else
#define GO_COPY(T, name, x)
#define GO_COPIED(name, x) x
#define GO_EIGHT
#endif
/* In each round of an operation of a block or group, a thread r of n for which the kind of rounds has a condition combines its value a[r] with a[i]. The
   distance v_d of the two doubles from round to round. In CUDA a group is a warp: its rounds, the first five, need neither memory nor barriers. On a processor,
   where a compiler makes a loop over the threads out of what is between two barriers, one thread does the rounds of all. */
#define GO_SUM_HAS(r, n) (((r) & (2 * v_d - 1)) == 0 && (r) < (n) - v_d)
#define GO_SUM_ALL(r, n) i64 r = 0; r < (n) - v_d; r += 2 * v_d
#define GO_SCAN_HAS(r, n) (((r) & v_d) != 0)
#define GO_SCAN_ALL(r, n) i64 r = v_d; r < (n); r = (r + 1) | v_d
#ifdef HALYARD_CUDA
#define GO_FIRST 32
#define GO_WARP(KIND, r, n, T, x, i, both) { \
	T v_own = x; \
	_Pragma("unroll") for (i64 v_d = 1; v_d < 32; v_d *= 2) { \
		T v_other = (T)__shfl_sync(go_warp(), v_own, (int)(i)); \
		if (GO_##KIND##_HAS(r, n)) v_own = both; \
	} \
	x = v_own; \
}
#define GO_GROUP(KIND, r, n, end, T, a, i, both) GO_WARP(KIND, r, n, T, a[r], i, both) BARRIER();
/* The threads of the thread's warp. The last warp of a block may have fewer than 32. */
FUNCTION u32 go_warp(void) {
	u32 x = (u32)THREADS(0), y = (u32)THREADS(1), me = ((u32)THREAD(2) * y + (u32)THREAD(1)) * x + (u32)THREAD(0);
	u32 n = x * y * (u32)THREADS(2) - (me & ~31u);
	return n < 32u ? (1u << n) - 1u : ~0u;
}
#else
#define GO_FIRST 1
#define GO_WARP(KIND, r, n, T, x, i, both)
#define GO_GROUP GO_ROUNDS
#endif
#ifdef GO_SERIAL
#define GO_ROUNDS(KIND, r, n, end, T, a, i, both) \
	BARRIER(); \
	if (r == 0) { \
		GO_ORDERED for (i64 v_d = 1; v_d < (end); v_d *= 2) { \
			GO_ORDERED for (GO_##KIND##_ALL(r, n)) { \
				T v_own = GO_ONCE(a[r]), v_other = GO_ONCE(a[i]); \
				GO_ONCE(a[r]) = both; \
			} \
		} \
	} \
	BARRIER();
#else
#define GO_ROUNDS(KIND, r, n, end, T, a, i, both) \
	GO_WARP(KIND, r, n, T, a[r], i, both) \
	BARRIER(); \
	GO_ORDERED for (i64 v_d = GO_FIRST; v_d < (end); v_d *= 2) { \
		if (GO_##KIND##_HAS(r, n)) { \
			T v_own = GO_ONCE(a[r]), v_other = GO_ONCE(a[i]); \
			GO_ONCE(a[r]) = both; \
		} \
		BARRIER(); \
	}
#endif
