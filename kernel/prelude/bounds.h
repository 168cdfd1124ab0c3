
/* What halyard kernels writes around indexes. With HALYARD_BOUNDS the first index out of range is written into the last argument of the kernel, and the
   index is 0 instead: what is indexed has at least one element. */
#ifdef HALYARD_BOUNDS
#define GO_FAULTS , GLOBAL u32 *go_faults
#define GO_FAULTS_ALONE GLOBAL u32 *go_faults
#define GO_PASS , go_faults
#define GO_PASS_ALONE go_faults
#define GO_AT(i, n, site) go_at((i64)(i), (i64)(n), site, go_faults)
#define GO_CELL(i, j, n, m, site) go_cell((i64)(i), (i64)(j), (i64)(n), (i64)(m), site, go_faults)
FUNCTION void go_wide(GLOBAL u32 *at, i64 v) {
	at[0] = (u32)v;
	at[1] = (u32)((u64)v >> 32);
}
FUNCTION i64 go_at(i64 i, i64 n, u32 site, GLOBAL u32 *faults) {
	if ((u64)i < (u64)n) return i;
	if (ATOMIC_CAS(faults, 0u, 1u) == 0u) {
		faults[1] = site;
		go_wide(faults + 2, i);
		go_wide(faults + 4, n);
	}
	return 0;
}
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
#define GO_FAULTS
#define GO_FAULTS_ALONE
#define GO_PASS
#define GO_PASS_ALONE
#define GO_AT(i, n, site) (i)
#define GO_CELL(i, j, n, m, site) ((i64)((u64)(i) * (u64)(m) + (u64)(j)))
#endif
