typedef struct { i32 a[8]; } T_8_i32;
FUNCTION i32 go_max_i32(i32 x, i32 y) { return y > x ? y : x; }

KERNEL void k_saxpy(f32 h_a, const GLOBAL f32 *h_x, i64 h_x_n, GLOBAL f32 *h_y, i64 h_y_n GO_FAULTS) {
	if (GO_WHOLE((GO_INT)h_y_n)) {
		GO_INT h_i = (GO_INT)INDEX(0);
		h_y[GO_AT(h_i, h_y_n, 0)] = h_y[GO_AT(h_i, h_y_n, 0)] + h_a * h_x[GO_AT(h_i, h_x_n, 0)];
	} else {
		GO_INT h_i = (GO_INT)INDEX(0);
		if (h_i < (GO_INT)h_y_n) {
			h_y[GO_AT(h_i, h_y_n, 0)] = h_y[GO_AT(h_i, h_y_n, 0)] + h_a * h_x[GO_AT(h_i, h_x_n, 0)];
		}
	}
}

KERNEL void k_first(const GLOBAL i32 *h_x, i64 h_x_n, GLOBAL i32 *h_at, i64 h_at_n GO_FAULTS) {
	LOCAL T_8_i32 h_s;
	{
		u64 v_all = THREADS(0) * THREADS(1) * THREADS(2);
		u64 v_me = (THREAD(2) * THREADS(1) + THREAD(1)) * THREADS(0) + THREAD(0);
		for (u64 v_i = v_me; v_i < 8; v_i += v_all) {
			i32 v_zero = 0;
			h_s.a[v_i / 1] = v_zero;
		}
		BARRIER();
	}
	GO_INT h_me = (GO_INT)THREAD(0);
	if (GO_APART) {
		GO_ORDERED for (GO_INT h_row = h_me; h_row < (GO_INT)h_at_n; h_row += 8) {
			{
				GO_ONCE(h_at[GO_AT(h_row, h_at_n, 1)]) = -1;
				GO_ORDERED for (GO_INT h_k = 0; h_k < 8; h_k++) {
					i32 h_v = h_x[GO_AT((GO_INT)((GO_UINT)h_row * 8 + (GO_UINT)h_k), h_x_n, 2)];
					{
						i32 v_4 = 2;
						if (h_v > 0) {
							v_4 = 0;
						} else {
							if (h_v < 0) {
								v_4 = 1;
							}
						}
						if (v_4 == 0) {
							GO_ONCE(h_at[GO_AT(h_row, h_at_n, 3)]) = (i32)h_k;
							goto v_next_1;
						}
						if (v_4 == 1) {
							goto v_left_1;
						}
					}
				}
			}
			v_next_1:;
		}
		v_left_1:;
	}
	GO_ONCE(h_s.a[GO_AT(h_me & 7, 8, 4)]) = (i32)((u32)GO_ONCE(h_at[GO_AT(0, h_at_n, 4)]) - (u32)(i32)h_me);
	BARRIER();
	GO_ONCE(h_at[GO_AT(h_me, h_at_n, 5)]) = go_max_i32(go_max_i32(GO_ONCE(h_s.a[0]), GO_NOT(i32, GO_ONCE(h_s.a[GO_AT(h_me % 3, 8, 5)]))), 7);
	GO_LOOPED
}
