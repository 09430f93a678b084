//go:build !unix

package s3test

func claim(string) error { return errNoServer }

func lock(string) (func(), error) { return nil, errNoServer }
