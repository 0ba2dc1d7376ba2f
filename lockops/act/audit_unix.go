//go:build unix

package act

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openNoFollow opens a file, but follows no symbolic link.
func openNoFollow(path string, flag int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW, mode)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) { // EMLINK on FreeBSD
		return nil, fmt.Errorf("%s is a symbolic link, which is not followed (remove it): %w", path, err)
	}
	return f, err
}

// links counts a file's hard links: through a second link, audit lines would go into another file.
func links(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

// foreign reports whether a file belongs to a user other than this one and root.
func foreign(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid()
}

// LockFile keeps other processes from writing until unlock is called. It does nothing on a file system without such locks.
func LockFile(f *os.File) (unlock func()) {
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX) != nil {
		return func() {}
	}
	return func() { syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
}
