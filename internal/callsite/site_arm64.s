#include "textflag.h"

// func Here(s *Site) (goroutine uintptr)
TEXT ·Here(SB), NOSPLIT|NOFRAME, $0-16
	MOVD g, goroutine+8(FP)
	MOVD s+0(FP), R0
	MOVD R29, R1
	MOVD $8, R2
walk:
	MOVD $0, R3
	CBZ R1, store
	MOVD 8(R1), R3
	MOVD (R1), R1
store:
	MOVD.P R3, 8(R0)
	SUB $1, R2
	CBNZ R2, walk
	RET
