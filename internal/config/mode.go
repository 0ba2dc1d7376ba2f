package config

import (
	"io/fs"
	"runtime"
)

// others reports whether the group or others have one of the rights on a file. Windows has no such bits.
func others(info fs.FileInfo, rights fs.FileMode) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&rights != 0
}
