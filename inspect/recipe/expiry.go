package recipe

// TTLKeys are the keys of a lock that is more than one plain string whose TTL is the lock's; the first is the
// one that its holder stands in. kind is as in a Record. False where its entries have times of their own,
// which no TTL changes, or its library would not know of one: Symfony, redis-semaphore, madelson's semaphores
// and readers, Redisson's semaphores and readers, and rueidislock, which sets that of its three keys anew
// every few seconds.
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
