package disk

import "golang.org/x/sys/unix"

func measure(folder string) (usage, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return usage{}, err
	}
	return usage{int64(fs.Bavail) * fs.Bsize, int64(fs.Blocks) * fs.Bsize}, nil
}
