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
