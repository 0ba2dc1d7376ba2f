package config

import "golang.org/x/sys/unix"

// Kubernetes mounts configurations in directories of mode 0777, read-only.
func readOnly(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0
}
