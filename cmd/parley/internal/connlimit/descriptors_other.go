//go:build !unix

package connlimit

// descriptorLimit is how many descriptors the process may have.
func descriptorLimit() uint64 { return 1024 }
