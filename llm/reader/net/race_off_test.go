//go:build !race

package net

const goldenEvery = 1
