#include "textflag.h"

// A step takes a pair of inputs of some rows, and its two weights of 16 outputs in 32
// bytes. Rows are a number of bytes apart, which is in BX.

// PRODUCTS adds a pair of inputs of a row, at x, to the sums of its outputs.
#define PRODUCTS(x, low, high) \
	VPBROADCASTD x, Y10        \
	VPMADDWD     Y8, Y10, Y11  \
	VPMADDWD     Y9, Y10, Y12  \
	VPADDD       Y11, low, low \
	VPADDD       Y12, high, high

// func sums4AVX2(x *int16, stride int, w *int8, steps int, sums *int32)
TEXT ·sums4AVX2(SB), NOSPLIT, $0-40
	MOVQ  x+0(FP), SI
	MOVQ  stride+8(FP), BX
	MOVQ  w+16(FP), DI
	MOVQ  steps+24(FP), CX
	MOVQ  sums+32(FP), DX
	LEAQ  (SI)(BX*2), R8
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7

step:
	VPMOVSXBW (DI), Y8
	VPMOVSXBW 16(DI), Y9
	PRODUCTS((SI), Y0, Y1)
	PRODUCTS((SI)(BX*1), Y2, Y3)
	PRODUCTS((R8), Y4, Y5)
	PRODUCTS((R8)(BX*1), Y6, Y7)
	VPMOVSXBW 32(DI), Y8
	VPMOVSXBW 48(DI), Y9
	PRODUCTS(4(SI), Y0, Y1)
	PRODUCTS(4(SI)(BX*1), Y2, Y3)
	PRODUCTS(4(R8), Y4, Y5)
	PRODUCTS(4(R8)(BX*1), Y6, Y7)
	ADDQ      $8, SI
	ADDQ      $8, R8
	ADDQ      $64, DI
	SUBQ      $2, CX
	JNZ       step

	VMOVDQU Y0, (DX)
	VMOVDQU Y1, 32(DX)
	VMOVDQU Y2, 64(DX)
	VMOVDQU Y3, 96(DX)
	VMOVDQU Y4, 128(DX)
	VMOVDQU Y5, 160(DX)
	VMOVDQU Y6, 192(DX)
	VMOVDQU Y7, 224(DX)
	VZEROUPPER
	RET

// func sums4VNNI(x *int16, stride int, w *int8, steps int, sums *int32)
//
// VPDPWSSD waits for the sum of the one before, so odd steps have sums of their own.
TEXT ·sums4VNNI(SB), NOSPLIT, $0-40
	MOVQ   x+0(FP), SI
	MOVQ   stride+8(FP), BX
	MOVQ   w+16(FP), DI
	MOVQ   steps+24(FP), CX
	MOVQ   sums+32(FP), DX
	LEAQ   (SI)(BX*2), R8
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7

step:
	VPMOVSXBW     (DI), Z12
	VPMOVSXBW     32(DI), Z13
	VPDPWSSD.BCST (SI), Z12, Z0
	VPDPWSSD.BCST (SI)(BX*1), Z12, Z1
	VPDPWSSD.BCST (R8), Z12, Z2
	VPDPWSSD.BCST (R8)(BX*1), Z12, Z3
	VPDPWSSD.BCST 4(SI), Z13, Z4
	VPDPWSSD.BCST 4(SI)(BX*1), Z13, Z5
	VPDPWSSD.BCST 4(R8), Z13, Z6
	VPDPWSSD.BCST 4(R8)(BX*1), Z13, Z7
	ADDQ          $8, SI
	ADDQ          $8, R8
	ADDQ          $64, DI
	SUBQ          $2, CX
	JNZ           step

	VPADDD    Z4, Z0, Z0
	VPADDD    Z5, Z1, Z1
	VPADDD    Z6, Z2, Z2
	VPADDD    Z7, Z3, Z3
	VMOVDQU32 Z0, (DX)
	VMOVDQU32 Z1, 64(DX)
	VMOVDQU32 Z2, 128(DX)
	VMOVDQU32 Z3, 192(DX)
	VZEROUPPER
	RET

// PRODUCTS12 adds a pair of inputs, at an offset, of 12 rows.
#define PRODUCTS12(at)                           \
	VPDPWSSD.BCST at(SI), Z12, Z0          \
	VPDPWSSD.BCST at(SI)(BX*1), Z12, Z1    \
	VPDPWSSD.BCST at(SI)(BX*2), Z12, Z2    \
	VPDPWSSD.BCST at(R8), Z12, Z3          \
	VPDPWSSD.BCST at(R8)(BX*1), Z12, Z4    \
	VPDPWSSD.BCST at(R8)(BX*2), Z12, Z5    \
	VPDPWSSD.BCST at(R9), Z12, Z6          \
	VPDPWSSD.BCST at(R9)(BX*1), Z12, Z7    \
	VPDPWSSD.BCST at(R9)(BX*2), Z12, Z8    \
	VPDPWSSD.BCST at(R10), Z12, Z9         \
	VPDPWSSD.BCST at(R10)(BX*1), Z12, Z10  \
	VPDPWSSD.BCST at(R10)(BX*2), Z12, Z11

// func sums12VNNI(x *int16, stride int, w *int8, steps int, sums *int32)
TEXT ·sums12VNNI(SB), NOSPLIT, $0-40
	MOVQ   x+0(FP), SI
	MOVQ   stride+8(FP), BX
	MOVQ   w+16(FP), DI
	MOVQ   steps+24(FP), CX
	MOVQ   sums+32(FP), DX
	LEAQ   (BX)(BX*2), AX
	LEAQ   (SI)(AX*1), R8
	LEAQ   (SI)(AX*2), R9
	LEAQ   (R8)(AX*2), R10
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	VPXORD Z8, Z8, Z8
	VPXORD Z9, Z9, Z9
	VPXORD Z10, Z10, Z10
	VPXORD Z11, Z11, Z11

step:
	VPMOVSXBW (DI), Z12
	PRODUCTS12(0)
	VPMOVSXBW 32(DI), Z12
	PRODUCTS12(4)
	ADDQ      $8, SI
	ADDQ      $8, R8
	ADDQ      $8, R9
	ADDQ      $8, R10
	ADDQ      $64, DI
	SUBQ      $2, CX
	JNZ       step

	VMOVDQU32 Z0, (DX)
	VMOVDQU32 Z1, 64(DX)
	VMOVDQU32 Z2, 128(DX)
	VMOVDQU32 Z3, 192(DX)
	VMOVDQU32 Z4, 256(DX)
	VMOVDQU32 Z5, 320(DX)
	VMOVDQU32 Z6, 384(DX)
	VMOVDQU32 Z7, 448(DX)
	VMOVDQU32 Z8, 512(DX)
	VMOVDQU32 Z9, 576(DX)
	VMOVDQU32 Z10, 640(DX)
	VMOVDQU32 Z11, 704(DX)
	VZEROUPPER
	RET

// OUTPUTS adds eight outputs, at an offset.
#define OUTPUTS(at)                   \
	VCVTDQ2PS at(CX), Y1        \
	VMULPS    at(DX), Y0, Y2    \
	VMULPS    Y1, Y2, Y1        \
	VMOVUPS   at(DI), Y3        \
	VADDPS    at(SI), Y3, Y3    \
	VADDPS    Y1, Y3, Y3        \
	VMOVUPS   Y3, at(DI)

// func outputsAVX2(to *float32, stride int, bias, scales *float32, sums *int32, units *float32, rows int)
TEXT ·outputsAVX2(SB), NOSPLIT, $0-56
	MOVQ to+0(FP), DI
	MOVQ stride+8(FP), BX
	MOVQ bias+16(FP), SI
	MOVQ scales+24(FP), DX
	MOVQ sums+32(FP), CX
	MOVQ units+40(FP), R8
	MOVQ rows+48(FP), R9

row:
	VBROADCASTSS (R8), Y0
	OUTPUTS(0)
	OUTPUTS(32)
	ADDQ         BX, DI
	ADDQ         $64, CX
	ADDQ         $4, R8
	DECQ         R9
	JNZ          row

	VZEROUPPER
	RET

// func maxAbsAVX2(x *float32, n int, lanes *[8]float32)
TEXT ·maxAbsAVX2(SB), NOSPLIT, $0-24
	MOVQ     x+0(FP), SI
	MOVQ     n+8(FP), CX
	MOVQ     lanes+16(FP), DX
	VPCMPEQD Y1, Y1, Y1
	VPSRLD   $1, Y1, Y1 // all bits but the sign
	VPXOR    Y0, Y0, Y0

step:
	VPAND   (SI), Y1, Y2
	VPMAXUD Y2, Y0, Y0
	ADDQ    $32, SI
	SUBQ    $8, CX
	JNZ     step

	VMOVDQU Y0, (DX)
	VZEROUPPER
	RET

// func quantizeAVX2(to *int16, x *float32, n int, by float32)
TEXT ·quantizeAVX2(SB), NOSPLIT, $0-28
	MOVQ         to+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSS by+24(FP), Y0

step:
	VMULPS    (SI), Y0, Y1
	VMULPS    32(SI), Y0, Y2
	VCVTPS2DQ Y1, Y1
	VCVTPS2DQ Y2, Y2
	VPACKSSDW Y2, Y1, Y1
	VPERMQ    $0xd8, Y1, Y1 // VPACKSSDW takes turns in blocks of four
	VMOVDQU   Y1, (DI)
	ADDQ      $64, SI
	ADDQ      $32, DI
	SUBQ      $16, CX
	JNZ       step

	VZEROUPPER
	RET

// PRODUCTS32 adds an input of a row, at x, to the sums of its outputs. Multiplication and
// addition are rounded each, as in plain Go.
#define PRODUCTS32(x, low, high) \
	VBROADCASTSS x, Y10        \
	VMULPS       Y8, Y10, Y11  \
	VMULPS       Y9, Y10, Y12  \
	VADDPS       Y11, low, low \
	VADDPS       Y12, high, high

// func product4AVX2(x *float32, stride int, w *float32, in int, sums *float32)
TEXT ·product4AVX2(SB), NOSPLIT, $0-40
	MOVQ   x+0(FP), SI
	MOVQ   stride+8(FP), BX
	MOVQ   w+16(FP), DI
	MOVQ   in+24(FP), CX
	MOVQ   sums+32(FP), DX
	LEAQ   (SI)(BX*2), R8
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7

step:
	VMOVUPS (DI), Y8
	VMOVUPS 32(DI), Y9
	PRODUCTS32((SI), Y0, Y1)
	PRODUCTS32((SI)(BX*1), Y2, Y3)
	PRODUCTS32((R8), Y4, Y5)
	PRODUCTS32((R8)(BX*1), Y6, Y7)
	ADDQ    $4, SI
	ADDQ    $4, R8
	ADDQ    $64, DI
	DECQ    CX
	JNZ     step

	VMOVUPS Y0, (DX)
	VMOVUPS Y1, 32(DX)
	VMOVUPS Y2, 64(DX)
	VMOVUPS Y3, 96(DX)
	VMOVUPS Y4, 128(DX)
	VMOVUPS Y5, 160(DX)
	VMOVUPS Y6, 192(DX)
	VMOVUPS Y7, 224(DX)
	VZEROUPPER
	RET

// Constants of exp: the limits of its input, the logarithm, the number that rounds, and
// the coefficients; and those of gelu.
DATA constants<>+0(SB)/4, $-87.0
DATA constants<>+4(SB)/4, $88.0
DATA constants<>+8(SB)/4, $1.44269504
DATA constants<>+12(SB)/4, $12582912.0
DATA constants<>+16(SB)/4, $0.0013333558
DATA constants<>+20(SB)/4, $0.009618129
DATA constants<>+24(SB)/4, $0.05550411
DATA constants<>+28(SB)/4, $0.24022651
DATA constants<>+32(SB)/4, $0.6931472
DATA constants<>+36(SB)/4, $1.0
DATA constants<>+40(SB)/4, $0.044715
DATA constants<>+44(SB)/4, $-1.5957691216
GLOBL constants<>(SB), RODATA|NOPTR, $48

// EXPCONSTANTS loads the constants of EXP into Y6 to Y15.
#define EXPCONSTANTS \
	VBROADCASTSS constants<>+0(SB), Y6   \
	VBROADCASTSS constants<>+4(SB), Y7   \
	VBROADCASTSS constants<>+8(SB), Y8   \
	VBROADCASTSS constants<>+12(SB), Y9  \
	VBROADCASTSS constants<>+16(SB), Y10 \
	VBROADCASTSS constants<>+20(SB), Y11 \
	VBROADCASTSS constants<>+24(SB), Y12 \
	VBROADCASTSS constants<>+28(SB), Y13 \
	VBROADCASTSS constants<>+32(SB), Y14 \
	VBROADCASTSS constants<>+36(SB), Y15

// EXP sets Y0 to its exponential, by the steps of exp in Go. It uses Y1 and Y2.
#define EXP \
	VMAXPS Y6, Y0, Y0   \
	VMINPS Y7, Y0, Y0   \
	VMULPS Y8, Y0, Y0   \
	VADDPS Y9, Y0, Y1   \
	VSUBPS Y9, Y1, Y2   \
	VSUBPS Y2, Y0, Y0   \
	VMULPS Y10, Y0, Y2  \
	VADDPS Y11, Y2, Y2  \
	VMULPS Y2, Y0, Y2   \
	VADDPS Y12, Y2, Y2  \
	VMULPS Y2, Y0, Y2   \
	VADDPS Y13, Y2, Y2  \
	VMULPS Y2, Y0, Y2   \
	VADDPS Y14, Y2, Y2  \
	VMULPS Y2, Y0, Y2   \
	VADDPS Y15, Y2, Y2  \
	VPSLLD $23, Y1, Y1  \
	VPADDD Y1, Y2, Y0

// func expAVX2(x *float32, n int)
TEXT ·expAVX2(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	EXPCONSTANTS

step:
	VMOVUPS (SI), Y0
	EXP
	VMOVUPS Y0, (SI)
	ADDQ    $32, SI
	SUBQ    $8, CX
	JNZ     step

	VZEROUPPER
	RET

// func geluAVX2(x *float32, n int)
TEXT ·geluAVX2(SB), NOSPLIT, $0-16
	MOVQ         x+0(FP), SI
	MOVQ         n+8(FP), CX
	EXPCONSTANTS
	VBROADCASTSS constants<>+40(SB), Y4
	VBROADCASTSS constants<>+44(SB), Y5

step:
	VMOVUPS (SI), Y3
	VMULPS  Y4, Y3, Y0
	VMULPS  Y3, Y0, Y0
	VMULPS  Y3, Y0, Y0
	VADDPS  Y0, Y3, Y0
	VMULPS  Y5, Y0, Y0
	EXP
	VADDPS  Y15, Y0, Y0
	VDIVPS  Y0, Y3, Y0
	VMOVUPS Y0, (SI)
	ADDQ    $32, SI
	SUBQ    $8, CX
	JNZ     step

	VZEROUPPER
	RET

// func sumAVX2(x *float32, n int, lanes *[8]float32)
TEXT ·sumAVX2(SB), NOSPLIT, $0-24
	MOVQ   x+0(FP), SI
	MOVQ   n+8(FP), CX
	MOVQ   lanes+16(FP), DX
	VXORPS Y0, Y0, Y0

step:
	VADDPS (SI), Y0, Y0
	ADDQ   $32, SI
	SUBQ   $8, CX
	JNZ    step

	VMOVUPS Y0, (DX)
	VZEROUPPER
	RET

// func squaresAVX2(x *float32, n int, mean float32, lanes *[8]float32)
TEXT ·squaresAVX2(SB), NOSPLIT, $0-32
	MOVQ         x+0(FP), SI
	MOVQ         n+8(FP), CX
	VBROADCASTSS mean+16(FP), Y1
	MOVQ         lanes+24(FP), DX
	VXORPS       Y0, Y0, Y0

step:
	VMOVUPS (SI), Y2
	VSUBPS  Y1, Y2, Y2
	VMULPS  Y2, Y2, Y2
	VADDPS  Y2, Y0, Y0
	ADDQ    $32, SI
	SUBQ    $8, CX
	JNZ     step

	VMOVUPS Y0, (DX)
	VZEROUPPER
	RET

// func normalizeAVX2(to, x, weight, bias *float32, n int, mean, scale float32)
TEXT ·normalizeAVX2(SB), NOSPLIT, $0-48
	MOVQ         to+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         weight+16(FP), DX
	MOVQ         bias+24(FP), BX
	MOVQ         n+32(FP), CX
	VBROADCASTSS mean+40(FP), Y0
	VBROADCASTSS scale+44(FP), Y1

step:
	VMOVUPS (SI), Y2
	VSUBPS  Y0, Y2, Y2
	VMULPS  Y1, Y2, Y2
	VMULPS  (DX), Y2, Y2
	VADDPS  (BX), Y2, Y2
	VMOVUPS Y2, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	ADDQ    $32, DX
	ADDQ    $32, BX
	SUBQ    $8, CX
	JNZ     step

	VZEROUPPER
	RET
