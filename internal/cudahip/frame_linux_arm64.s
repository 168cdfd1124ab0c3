#include "textflag.h"

// func boundEntry() uintptr
TEXT ·boundEntry(SB), NOSPLIT, $0-8
	MOVD $bound<>(SB), R0
	MOVD R0, ret+0(FP)
	RET

// bound is a C function under the AAPCS64: int bound(frame *f). It keeps R19 and the
// link register, which the functions it calls need not.
TEXT bound<>(SB), NOSPLIT|NOFRAME, $0
	SUB  $64, RSP
	MOVD R19, 32(RSP)
	MOVD R29, 40(RSP)
	MOVD R30, 48(RSP)
	MOVD R0, R19
	MOVD 0(R19), R9        // bind
	CBZ  R9, call
	MOVD 8(R19), R0        // ctx
	CALL (R9)
	CBZW R0, call
	MOVD $1, R9
	MOVD R9, 24(R19)       // failed
	B    done

call:
	MOVD 96(R19), R9       // args[8:12] go to the stack
	MOVD R9, 0(RSP)
	MOVD 104(R19), R9
	MOVD R9, 8(RSP)
	MOVD 112(R19), R9
	MOVD R9, 16(RSP)
	MOVD 120(R19), R9
	MOVD R9, 24(RSP)
	MOVD 32(R19), R0       // args[0:8]
	MOVD 40(R19), R1
	MOVD 48(R19), R2
	MOVD 56(R19), R3
	MOVD 64(R19), R4
	MOVD 72(R19), R5
	MOVD 80(R19), R6
	MOVD 88(R19), R7
	MOVD 16(R19), R9       // fn
	CALL (R9)

done:
	MOVD 48(RSP), R30
	MOVD 40(RSP), R29
	MOVD 32(RSP), R19
	ADD  $64, RSP
	RET
