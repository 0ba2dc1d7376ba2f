package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/lockscope/lockscope/internal/connect"
)

// user is the user who reads a file, with the file system that it sees.
type user struct {
	id     int
	groups []int
	stat   func(string) (fs.FileInfo, error)
	// readOnly reports whether a path is on a file system that no one can write to.
	readOnly func(string) bool
}

func us() user {
	groups, _ := os.Getgroups()
	return user{id: os.Geteuid(), groups: append(groups, os.Getegid()), stat: os.Stat, readOnly: readOnly}
}

// distrust says why a file that names commands or secrets must not be used. By the rules of sshd, the
// file and the directories above it must belong to the user or root. No one else may write to them,
// but a directory with the sticky bit protects its files.
func (u user) distrust(path string, info fs.FileInfo) error {
	path, err := filepath.EvalSymlinks(path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return err
	}
	for at := info; ; path = filepath.Dir(path) {
		owner, _, known := ownerOf(at)
		switch {
		case !known:
			return nil // this system has no such owners
		case owner != 0 && owner != u.id:
			return fmt.Errorf("%s belongs to user %d (chown it to yourself or root)", path, owner)
		case at.Mode().Perm()&0o022 != 0 && at.Mode()&fs.ModeSticky == 0 && !u.readOnly(path):
			return fmt.Errorf("others may write %s (mode %04o; chmod go-w it)", path, at.Mode().Perm())
		case path == filepath.Dir(path):
			return nil
		}
		if at, err = u.stat(filepath.Dir(path)); err != nil {
			return err
		}
	}
}

// othersRead reports whether others may read a secret. Files that root owns and one of the user's
// groups may read are fine: Kubernetes mounts a pod's secrets like that.
func (u user) othersRead(info fs.FileInfo) bool {
	owner, group, known := ownerOf(info)
	if !known {
		return false
	}
	mounted := owner == 0 && u.id != 0 && slices.Contains(u.groups, group)
	rights := info.Mode().Perm() & 0o077
	return rights != 0 && !(mounted && rights == 0o040)
}

// CheckKeys refuses private keys of targets that others may read or replace. A group may read a key
// that root owns, as with Debian's ssl-cert.
func CheckKeys(targets []connect.Target) error {
	for _, t := range targets {
		for _, tls := range []*connect.TLS{t.TLS, t.AdminTLS} {
			if tls == nil || tls.Key == "" {
				continue
			}
			if err := checkKey(tls.Key); err != nil {
				return fmt.Errorf("target %s is %w: %w", t.Name, connect.ErrTarget, err)
			}
		}
	}
	return nil
}

func checkKey(path string) error {
	path, err := connect.HomePath(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if err := us().distrust(path, info); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	owner, _, known := ownerOf(info)
	rights := info.Mode().Perm() & 0o077
	if known && rights != 0 && !(owner == 0 && rights == 0o040) {
		return fmt.Errorf("key %s may be read by others (mode %04o; chmod 600 it)", path, info.Mode().Perm())
	}
	return nil
}
