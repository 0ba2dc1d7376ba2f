package recipe

import (
	"path"
	"strings"
)

// Where a semaphore keeps its parts, relative to its own directory.
const (
	CuratorLeases = "leases" // InterProcessSemaphoreV2: permits, granted or not
	CuratorLocks  = "locks"  // the mutex that a client takes before a permit: the queue
	kazooQueue    = "-__lock__"
)

// KazooQueue returns the path of the queue of a kazoo Semaphore at p, relative to p: a directory
// next to it.
func KazooQueue(p string) string { return "../" + path.Base(p) + kazooQueue }

// KazooQueuePath returns the path of that directory.
func KazooQueuePath(p string) string { return p + kazooQueue }

// Part is a directory in which a recipe would keep a part of a lock.
type Part struct {
	// Place, seen from the lock's own directory, and Path.
	Place, Path string
}

// Parts returns the directories in which a recipe would keep parts of the lock at p.
func Parts(p string) []Part {
	dir := strings.TrimSuffix(p, "/")
	parts := []Part{{CuratorLeases, dir + "/" + CuratorLeases}, {CuratorLocks, dir + "/" + CuratorLocks}}
	if p != "/" {
		parts = append(parts, Part{KazooQueue(p), KazooQueuePath(p)})
	}
	return parts
}

// Base returns the directory of the lock that p would be a part of; false if its name is not that
// of a part.
func Base(p string) (string, bool) {
	dir, name := path.Split(p)
	switch n := len(name) - len(kazooQueue); {
	case name == CuratorLeases || name == CuratorLocks:
		return path.Clean(dir), true
	case n > 0 && name[n:] == kazooQueue:
		return dir + name[:n], true
	}
	return "", false
}
