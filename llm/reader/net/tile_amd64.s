#include "textflag.h"

// func tileAVX2(x, w *float64, in int, sums *[pair * group]float64)
//
// Each step takes two inputs of a pair of rows. Y0 and Y1 are the sums of the first and
// the second row for one input, Y2 and Y3 for the other.
TEXT ·tileAVX2(SB), NOSPLIT, $0-32
	MOVQ   x+0(FP), SI
	MOVQ   w+8(FP), DI
	MOVQ   in+16(FP), CX
	MOVQ   sums+24(FP), DX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	JMP    next

step:
	VMOVUPD      (DI), Y4
	VBROADCASTSD (SI), Y5
	VBROADCASTSD 8(SI), Y6
	VFMADD231PD  Y4, Y5, Y0
	VFMADD231PD  Y4, Y6, Y1
	VMOVUPD      32(DI), Y7
	VBROADCASTSD 16(SI), Y8
	VBROADCASTSD 24(SI), Y9
	VFMADD231PD  Y7, Y8, Y2
	VFMADD231PD  Y7, Y9, Y3
	ADDQ         $32, SI
	ADDQ         $64, DI

next:
	SUBQ $2, CX
	JGE  step

	VADDPD  Y2, Y0, Y0
	VADDPD  Y3, Y1, Y1
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VZEROUPPER
	RET
