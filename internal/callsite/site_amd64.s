#include "textflag.h"

// func Here(s *Site) (goroutine uintptr)
TEXT ·Here(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ (TLS), AX
	MOVQ AX, goroutine+8(FP)
	MOVQ s+0(FP), DI
	MOVQ BP, AX
	XORQ CX, CX
walk:
	XORQ DX, DX
	TESTQ AX, AX
	JZ store
	MOVQ 8(AX), DX
	MOVQ (AX), AX
store:
	MOVQ DX, (DI)(CX*8)
	INCQ CX
	CMPQ CX, $8
	JLT walk
	RET
