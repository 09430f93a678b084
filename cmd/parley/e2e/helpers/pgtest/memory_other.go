//go:build !linux

package pgtest

func memoryFolders() []string { return nil }
