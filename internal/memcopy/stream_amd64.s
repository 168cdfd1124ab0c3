//go:build !race && !msan && !asan

#include "textflag.h"

// PAGE copies 128 bytes at offset k of the block: plain loads, stores past the caches.
#define PAGE(k) \
	VMOVDQU k(SI), Y0; \
	VMOVDQU (k+32)(SI), Y1; \
	VMOVDQU (k+64)(SI), Y2; \
	VMOVDQU (k+96)(SI), Y3; \
	VMOVNTDQ Y0, k(DI); \
	VMOVNTDQ Y1, (k+32)(DI); \
	VMOVNTDQ Y2, (k+64)(DI); \
	VMOVNTDQ Y3, (k+96)(DI)

// func streamBlocks(dst, src unsafe.Pointer, blocks uint64)
TEXT ·streamBlocks(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ blocks+16(FP), BX
	TESTQ BX, BX
	JZ   done

block:
	MOVQ $32, CX

line:
	PAGE(0)
	PAGE(4096)
	PAGE(8192)
	PAGE(12288)
	PAGE(16384)
	PAGE(20480)
	PAGE(24576)
	PAGE(28672)
	ADDQ $128, SI
	ADDQ $128, DI
	DECQ CX
	JNZ  line
	ADDQ $28672, SI
	ADDQ $28672, DI
	DECQ BX
	JNZ  block
	SFENCE
	VZEROUPPER

done:
	RET

// func repeatMove(dst, src unsafe.Pointer, n uint64)
TEXT ·repeatMove(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	REP; MOVSB
	RET

// func hasAVX() bool
TEXT ·hasAVX(SB), NOSPLIT, $0-1
	XORL AX, AX
	XORL CX, CX
	CPUID
	CMPL AX, $1
	JB   no

	// The processor has AVX, and the system uses XSAVE.
	MOVL $1, AX
	XORL CX, CX
	CPUID
	ANDL $0x18000000, CX
	CMPL CX, $0x18000000
	JNE  no

	// The system saves the registers.
	XORL CX, CX
	XGETBV
	ANDL $6, AX
	CMPL AX, $6
	JNE  no
	MOVB $1, ret+0(FP)
	RET

no:
	MOVB $0, ret+0(FP)
	RET
