
/* What halyard kernels writes around indexes. With HALYARD_BOUNDS the first index out of range is written into the last argument of the kernel, and the
   index is 0 instead: what is indexed has at least one element. */
#ifdef HALYARD_BOUNDS
#define GO_FAULTS , GLOBAL u32 *go_faults
#define GO_FAULTS_ALONE GLOBAL u32 *go_faults
#define GO_PASS , go_faults
#define GO_PASS_ALONE go_faults
#define GO_AT(i, n, site) go_at((i64)(i), (i64)(n), site, go_faults)
FUNCTION i64 go_at(i64 i, i64 n, u32 site, GLOBAL u32 *faults) {
	if ((u64)i < (u64)n) return i;
	if (ATOMIC_CAS(faults, 0u, 1u) == 0u) {
		faults[1] = site;
		faults[2] = (u32)i;
		faults[3] = (u32)((u64)i >> 32);
		faults[4] = (u32)n;
		faults[5] = (u32)((u64)n >> 32);
	}
	return 0;
}
#else
#define GO_FAULTS
#define GO_FAULTS_ALONE
#define GO_PASS
#define GO_PASS_ALONE
#define GO_AT(i, n, site) (i)
#endif
