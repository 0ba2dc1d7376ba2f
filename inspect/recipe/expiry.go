package recipe

// TTLKeys returns the keys whose TTL decides a lock's TTL, if the lock is more than one plain
// string. The first is the key with its holder. kind is as in a Record. It returns false for
// libraries whose entries have their own expiry, or that would not notice a new TTL. These are
// Symfony, redis-semaphore, madelson's semaphores and readers, Redisson's semaphores and read-write
// locks, and rueidislock, which renews the TTL of its three keys every few seconds.
func TTLKeys(library, kind, key string) ([]string, bool) {
	switch {
	case library == sidekiqName: // as its lock.lua does
		keys, _, ok := SidekiqKeys(key)
		if !ok {
			return nil, false
		}
		return []string{keys[0], keys[1], keys[4]}, true
	case library == "redisson" && kind == "mutex", library == lockscopeName:
		return []string{key}, true
	}
	return nil, false
}
