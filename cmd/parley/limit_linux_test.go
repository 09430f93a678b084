package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// setFileLimit keeps the program from writing files beyond a size, if it is to be.
func setFileLimit() {
	text := os.Getenv(fileLimit)
	if text == "" {
		return
	}
	size, err := strconv.ParseUint(text, 10, 64)
	if err == nil {
		err = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY})
	}
	if err != nil {
		panic(err)
	}
}
