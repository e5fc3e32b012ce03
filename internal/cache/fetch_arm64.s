// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// func Fetch(a, b unsafe.Pointer)
TEXT ·Fetch(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	MOVD b+8(FP), R1
	PRFM (R0), PLDL1KEEP
	PRFM 64(R0), PLDL1KEEP
	PRFM (R1), PLDL1KEEP
	PRFM 64(R1), PLDL1KEEP
	RET

// func Lines(p unsafe.Pointer, n int)
TEXT ·Lines(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD n+8(FP), R1
next:
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0
	SUBS $1, R1
	BGT  next
	RET
