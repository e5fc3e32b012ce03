// SPDX-License-Identifier: Apache-2.0

//go:build linux

#include "go_asm.h"
#include "textflag.h"

// func enter(code uintptr, m *Machine) int32
TEXT ·enter(SB), NOSPLIT, $0-20
	MOVQ code+0(FP), AX
	MOVQ m+8(FP), SI
	MOVQ Machine_f(SI), DI
	MOVQ Machine_data(SI), R8
	MOVQ (Machine_data+8)(SI), R9
	MOVQ Machine_cells(SI), R10
	CALL AX
	MOVL AX, ret+16(FP)
	RET
