#include "textflag.h"

// func callEntry() uintptr
TEXT ·callEntry(SB), NOSPLIT, $0-8
	MOVD $call<>(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func sequenceEntry() uintptr
TEXT ·sequenceEntry(SB), NOSPLIT, $0-8
	MOVD $sequence<>(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func chainEntry() uintptr
TEXT ·chainEntry(SB), NOSPLIT, $0-8
	MOVD $chain<>(SB), R0
	MOVD R0, ret+0(FP)
	RET

// call is a C function under the AAPCS64: void call(frame *f). It keeps R19 and the
// link register, which the function it calls need not.
TEXT call<>(SB), NOSPLIT|NOFRAME, $0
	SUB  $64, RSP
	MOVD R19, 32(RSP)
	MOVD R29, 40(RSP)
	MOVD R30, 48(RSP)
	MOVD R0, R19
	MOVD 72(R19), R9       // args[8:12] go to the stack
	MOVD R9, 0(RSP)
	MOVD 80(R19), R9
	MOVD R9, 8(RSP)
	MOVD 88(R19), R9
	MOVD R9, 16(RSP)
	MOVD 96(R19), R9
	MOVD R9, 24(RSP)
	MOVD 8(R19), R0        // args[0:8]
	MOVD 16(R19), R1
	MOVD 24(R19), R2
	MOVD 32(R19), R3
	MOVD 40(R19), R4
	MOVD 48(R19), R5
	MOVD 56(R19), R6
	MOVD 64(R19), R7
	MOVD 0(R19), R9        // fn
	CALL (R9)
	MOVD R0, 104(R19)      // result
	MOVD 48(RSP), R30
	MOVD 40(RSP), R29
	MOVD 32(RSP), R19
	ADD  $64, RSP
	RET

// sequence is a C function under the AAPCS64: void sequence(Sequence *s).
TEXT sequence<>(SB), NOSPLIT|NOFRAME, $0
	SUB  $32, RSP
	MOVD R19, 0(RSP)       // kept by the callee, as is R20
	MOVD R20, 8(RSP)
	MOVD R29, 16(RSP)
	MOVD R30, 24(RSP)
	MOVD R0, R19
	MOVD R19, R20          // Begin
	MOVD 0(R20), R9
	CBZ  R9, begun
	CALL step<>(SB)
	CBNZW R0, done

begun:
	ADD $72, R19, R20      // Ask

ask:
	MOVD 224(R19), R9      // Rounds
	CBZ  R9, done
	SUB  $1, R9
	MOVD R9, 224(R19)
	CALL step<>(SB)
	CBNZW R0, done
	MOVD 216(R19), R9      // Flag
	MOVW 0(R9), R9
	CBZW R9, ask
	ADD  $144, R19, R20    // Finish
	MOVD 0(R20), R9
	CBZ  R9, done
	CALL step<>(SB)

done:
	MOVD 24(RSP), R30
	MOVD 16(RSP), R29
	MOVD 8(RSP), R20
	MOVD 0(RSP), R19
	ADD  $32, RSP
	RET

// step makes the call of the Step at R20.
TEXT step<>(SB), NOSPLIT|NOFRAME, $0
	SUB  $16, RSP
	MOVD R30, 0(RSP)
	MOVD 8(R20), R0        // Args
	MOVD 16(R20), R1
	MOVD 24(R20), R2
	MOVD 32(R20), R3
	MOVD 40(R20), R4
	MOVD 48(R20), R5
	MOVD 56(R20), R6
	MOVD 0(R20), R9        // Proc
	CALL (R9)
	MOVD R0, 64(R20)       // result
	MOVD 0(RSP), R30
	ADD  $16, RSP
	RET

// chain is a C function under the AAPCS64: void chain(Chain *c). A link begins as a frame does.
TEXT chain<>(SB), NOSPLIT|NOFRAME, $0
	SUB  $32, RSP
	MOVD R19, 0(RSP)       // kept by the callee, as is R20
	MOVD R20, 8(RSP)
	MOVD R29, 16(RSP)
	MOVD R30, 24(RSP)
	MOVD R0, R19
	ADD  $16, R19, R20     // links

next:
	MOVD 8(R19), R9        // made
	MOVD 0(R19), R10       // n
	CMP  R9, R10
	BEQ  done
	MOVD R20, R0
	CALL call<>(SB)
	MOVWU 104(R20), R9     // result
	MOVWU 112(R20), R10    // status
	AND   R10, R9
	CBNZ  R9, done
	MOVD 8(R19), R9
	ADD  $1, R9
	MOVD R9, 8(R19)
	ADD  $128, R20
	B    next

done:
	MOVD 24(RSP), R30
	MOVD 16(RSP), R29
	MOVD 8(RSP), R20
	MOVD 0(RSP), R19
	ADD  $32, RSP
	RET
