//go:build !unix

package s3test

func claim(string) error { return errNoServer }
