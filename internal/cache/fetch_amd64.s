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
