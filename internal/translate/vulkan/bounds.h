FUNCTION void go_looped(GLOBAL u32 *faults) {
	u32 n = faults[10] + 2u, sum = 0u;
	for (u32 i = 0u; i < n; i++) sum = sum * 3u + 1u;
	if (sum != 4u) {
		if (ATOMIC_CAS(faults, 0u, 3u) == 0u) faults[1] = 0u;
	}
}
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
