//go:build !unix

package servertest

func claim(string) error { return ErrNoProgram }
