//go:build !linux

package main

func setFileLimit() {}
