//go:build !unix

package act

import (
	"fmt"
	"io/fs"
	"os"
)

// openNoFollow opens a file, but not a symbolic link to one.
func openNoFollow(path string, flag int, mode fs.FileMode) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a symbolic link, which is not followed (remove it)", path)
	}
	return os.OpenFile(path, flag, mode)
}

// links is always 1: this system's FileInfo has no count of hard links.
func links(fs.FileInfo) uint64 { return 1 }

// foreign is always false: this system's FileInfo has no owner.
func foreign(fs.FileInfo) bool { return false }

// LockFile does nothing: appending is one step here.
func LockFile(*os.File) (unlock func()) { return func() {} }
