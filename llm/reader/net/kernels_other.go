//go:build !amd64

package net

func supported() instructionSet { return plainGo }

func vectorSums(*integerSums, []int16, int, []int8) int                             { return 0 }
func vectorProduct(*floatSums, []float32, int, []float32) bool                      { return false }
func vectorOutputs(matrix, int, []float32, []float32, *integerSums, []float32) bool { return false }
func vectorMaxAbs([]float32, *[8]float32) int                                       { return 0 }
func vectorQuantize([]int16, []float32, float32) int                                { return 0 }
func vectorExp([]float32) int                                                       { return 0 }
func vectorGELU([]float32) int                                                      { return 0 }
func vectorSum([]float32, *[8]float32) int                                          { return 0 }
func vectorSquares([]float32, float32, *[8]float32) int                             { return 0 }
func vectorNormalize(_, _, _, _ []float32, _, _ float32) int                        { return 0 }
