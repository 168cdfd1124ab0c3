#include "textflag.h"

// func callEntry() uintptr
TEXT ·callEntry(SB), NOSPLIT, $0-8
	MOVQ $call<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func sequenceEntry() uintptr
TEXT ·sequenceEntry(SB), NOSPLIT, $0-8
	MOVQ $sequence<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func chainEntry() uintptr
TEXT ·chainEntry(SB), NOSPLIT, $0-8
	MOVQ $chain<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// call is a C function under the System V ABI: void call(frame *f). It is entered on a
// thread's C stack with the return address on top, so that one push aligns the stack to 16 bytes.
TEXT call<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX               // kept by the callee
	MOVQ  DI, BX
	SUBQ  $48, SP
	MOVQ  56(BX), AX       // args[6:12] go to the stack
	MOVQ  AX, 0(SP)
	MOVQ  64(BX), AX
	MOVQ  AX, 8(SP)
	MOVQ  72(BX), AX
	MOVQ  AX, 16(SP)
	MOVQ  80(BX), AX
	MOVQ  AX, 24(SP)
	MOVQ  88(BX), AX
	MOVQ  AX, 32(SP)
	MOVQ  96(BX), AX
	MOVQ  AX, 40(SP)
	MOVQ  8(BX), DI        // args[0:6]
	MOVQ  16(BX), SI
	MOVQ  24(BX), DX
	MOVQ  32(BX), CX
	MOVQ  40(BX), R8
	MOVQ  48(BX), R9
	MOVQ  0(BX), R10       // fn
	XORL  AX, AX           // a function with variable arguments gets none in vector registers
	CALL  R10
	MOVQ  AX, 104(BX)      // result
	ADDQ  $48, SP
	POPQ  BX
	RET

// sequence is a C function under the System V ABI: void sequence(Sequence *s).
TEXT sequence<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX               // kept by the callee, as is R12
	PUSHQ R12
	SUBQ  $8, SP
	MOVQ  DI, BX
	MOVQ  BX, R12          // Begin
	CMPQ  0(R12), $0
	JEQ   begun
	CALL  step<>(SB)
	TESTL AX, AX
	JNZ   done

begun:
	LEAQ 72(BX), R12       // Ask

ask:
	CMPQ  224(BX), $0      // Rounds
	JEQ   done
	DECQ  224(BX)
	CALL  step<>(SB)
	TESTL AX, AX
	JNZ   done
	MOVQ  216(BX), AX      // Flag
	CMPL  0(AX), $0
	JEQ   ask
	LEAQ  144(BX), R12     // Finish
	CMPQ  0(R12), $0
	JEQ   done
	CALL  step<>(SB)

done:
	ADDQ $8, SP
	POPQ R12
	POPQ BX
	RET

// step makes the call of the Step at R12.
TEXT step<>(SB), NOSPLIT|NOFRAME, $0
	SUBQ $24, SP           // aligns the stack to 16 bytes
	MOVQ 56(R12), AX       // Args[6] goes to the stack
	MOVQ AX, 0(SP)
	MOVQ 8(R12), DI        // Args[0:6]
	MOVQ 16(R12), SI
	MOVQ 24(R12), DX
	MOVQ 32(R12), CX
	MOVQ 40(R12), R8
	MOVQ 48(R12), R9
	MOVQ 0(R12), R10       // Proc
	XORL AX, AX
	CALL R10
	MOVQ AX, 64(R12)       // result
	ADDQ $24, SP
	RET

// chain is a C function under the System V ABI: void chain(Chain *c). A link begins as a frame does.
TEXT chain<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX               // kept by the callee, as is R12
	PUSHQ R12
	SUBQ  $8, SP
	MOVQ  DI, BX
	LEAQ  16(BX), R12      // links

next:
	MOVQ 8(BX), AX         // made
	CMPQ AX, 0(BX)         // n
	JEQ  done
	MOVQ R12, DI
	CALL call<>(SB)
	MOVL 104(R12), AX      // result
	ANDL 112(R12), AX      // status
	JNE  done
	INCQ 8(BX)
	ADDQ $128, R12
	JMP  next

done:
	ADDQ $8, SP
	POPQ R12
	POPQ BX
	RET
