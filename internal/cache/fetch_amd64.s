// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// func Fetch(a, b unsafe.Pointer)
TEXT ·Fetch(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), AX
	MOVQ b+8(FP), BX
	PREFETCHT0 (AX)
	PREFETCHT0 64(AX)
	PREFETCHT0 (BX)
	PREFETCHT0 64(BX)
	RET

// func Lines(p unsafe.Pointer, n int)
TEXT ·Lines(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ n+8(FP), CX
next:
	PREFETCHT0 (AX)
	ADDQ $64, AX
	DECQ CX
	JGT  next
	RET
