#include "textflag.h"

// func boundEntry() uintptr
TEXT ·boundEntry(SB), NOSPLIT, $0-8
	MOVQ $bound<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// bound is a C function under the System V ABI: int bound(frame *f). It is entered on
// a thread's C stack with the return address on top, so that one push aligns
// the stack to 16 bytes.
TEXT bound<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX               // kept by the callee
	MOVQ  DI, BX
	MOVQ  0(BX), AX        // bind
	TESTQ AX, AX
	JZ    call
	MOVQ  8(BX), DI        // ctx
	CALL  AX
	TESTL AX, AX
	JZ    call
	MOVQ  $1, 24(BX)       // failed
	JMP   done

call:
	SUBQ $48, SP
	MOVQ 80(BX), AX        // args[6:12] go to the stack
	MOVQ AX, 0(SP)
	MOVQ 88(BX), AX
	MOVQ AX, 8(SP)
	MOVQ 96(BX), AX
	MOVQ AX, 16(SP)
	MOVQ 104(BX), AX
	MOVQ AX, 24(SP)
	MOVQ 112(BX), AX
	MOVQ AX, 32(SP)
	MOVQ 120(BX), AX
	MOVQ AX, 40(SP)
	MOVQ 32(BX), DI        // args[0:6]
	MOVQ 40(BX), SI
	MOVQ 48(BX), DX
	MOVQ 56(BX), CX
	MOVQ 64(BX), R8
	MOVQ 72(BX), R9
	MOVQ 16(BX), AX        // fn
	CALL AX
	ADDQ $48, SP

done:
	POPQ BX
	RET
