package recipe

import (
	"slices"
	"sync"
)

// StringLock declares a recipe whose locks are one plain string each. Facts about its library that
// its values do not show belong here, and nowhere else.
type StringLock struct {
	// Name of the recipe.
	Name string
	// Key and Value are one lock as the library writes it, with NAME for the lock's own name. The
	// code that reads, lists, releases and explains locks is tried on it.
	Key, Value string
	// Patterns are SCAN patterns of keys that have none of the generic words of [RedisPatterns].
	// Every string that they match is listed, at least as possibly a lock, so they match no more
	// than the library writes.
	Patterns []string
	// OneServer: see [OneServer]. NoTTL: see [NoTTLByDefault].
	OneServer, NoTTL bool
	// Clients: see [Clients].
	Clients []string
	decode  func(key, value string) (Token, bool)
}

// stringLocks are all recipes of plain strings. The first that recognises a value wins, so the
// surest come first.
var stringLocks = sync.OnceValue(func() []StringLock {
	const (
		random4 = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718" // a UUID of random bytes
		hex1    = "5f0c1d4ec6f511f0a1b23c5200aabbcc"     // a UUID of time and MAC address, without dashes
		hex4    = "0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"
	)
	return []StringLock{
		{Name: lockscopeName, Key: "lock:NAME", Value: LockscopeToken([16]byte{}, "me"), Clients: []string{"go-redis"}, decode: lockscopeToken},
		{Name: "bullmq", Key: "bull:NAME:7:lock", Value: random4 + ":12", OneServer: true, Clients: []string{"ioredis"}, decode: bullMQ},
		{Name: "dapr", Key: "lock||app||NAME", Value: "worker", OneServer: true, Clients: []string{"go-redis"}, decode: daprLock},
		{Name: "rq", Key: rqLock + "NAME", Value: "4711", OneServer: true, Clients: []string{"redis-py"}, decode: rqScheduler},
		{Name: "shedlock", Key: "job-lock:default:NAME", Value: "ADDED:2026-11-21T09:00:00.123Z@batch-7:" + random4, OneServer: true, Clients: []string{"lettuce", "jedis"}, decode: shedLockRedis},
		{Name: "madelson", Key: "lock:NAME", Value: "WEB_01_4711_" + hex4, Clients: []string{"SE.Redis"}, decode: madelsonToken},
		{Name: "redbeat", Key: "NAME-redbeat::lock", Value: hex1, OneServer: true, Clients: []string{"redis-py"}, decode: redbeatLock},
		{Name: "redis-py", Key: "lock:NAME", Value: hex1, OneServer: true, NoTTL: true, Clients: []string{"redis-py"}, decode: redisPy},
		{Name: "node-redlock", Key: "lock:NAME", Value: hex4, Clients: []string{"ioredis", "node-redis"}, decode: nodeRedlock},
		{Name: "redsync", Key: "lock:NAME", Value: "Y2NjY2NjY2NjY2NjY2NjYw==", Clients: []string{"go-redis", "rueidis"}, decode: redsync},
		{Name: "symfony", Key: "lock:NAME", Value: "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=", Clients: []string{"phpredis", "predis"}, decode: symfonyString},
		{Name: "python-redis-lock", Key: pythonLockPrefix + "NAME", Value: "YWFhYWFhYWFhYWFhYWFhYWFh", OneServer: true, NoTTL: true, Clients: []string{"redis-py"}, decode: pythonRedisLock},
		{Name: "token", Key: "app:lock:NAME", Value: "5f0c1d4e-c6f5-11f0-a1b2-3c5200aabbcc", decode: timeUUID},
		{Name: redisSemaphoreName, Key: "mutex:NAME", Value: random4, Clients: []string{"ioredis", "node-redis"}, decode: redisSemaphoreToken},
		{Name: "redlock.net", Key: "redlock:NAME", Value: random4, Clients: []string{"SE.Redis", "redis-py"}, decode: redLockNet},
		{Name: springName, Key: "my-lock:NAME", Value: random4, OneServer: true, Clients: []string{"lettuce", "jedis", "redis-rb", "redis-client", "redis-py", "SE.Redis"}, decode: springIntegration},
		{
			Name: "laravel", Key: "laravel-cache-lock:NAME", Value: "aB3dE6gH9jK2mN5p", OneServer: true, NoTTL: true, Clients: []string{"phpredis", "predis", "go-redis"}, decode: laravelLock,
			// Of its jobs (Bus/UniqueLock.php), overlaps and schedule.
			Patterns: []string{"*laravel_unique_job:*", "*laravel-queue-overlap:*", "*framework/schedule-*"},
		},
		{Name: "redislock", Key: "lock:NAME", Value: "YWFhYWFhYWFhYWFhYWFhYQ", Clients: []string{"go-redis"}, decode: redislock},
	}
})

// StringLocks are all recipes whose locks are one plain string each.
func StringLocks() []StringLock { return slices.Clone(stringLocks()) }

// DecodeToken recognises the library that wrote the string value of a lock key, and decodes the owner from
// it. A value of no known shape is a "token", possibly.
func DecodeToken(key, value string) Token {
	for i := range stringLocks() {
		if t, ok := stringLocks()[i].decode(key, value); ok {
			return t
		}
	}
	return Token{Recipe: "token", Confidence: Possible}
}

// OneServer reports whether a library takes its locks on one Redis server each, and never on several masters
// at once. Values that may be a Redlock's as well (random ones; those of symfony, Redisson and madelson,
// which have multi-server locks) do not tell.
func OneServer(library string) bool {
	return library == sidekiqName || slices.ContainsFunc(stringLocks(), func(s StringLock) bool { return s.OneServer && s.Name == library })
}

// Clients are the names that client libraries give themselves (CLIENT SETINFO LIB-NAME, from Redis 7.2 on)
// through which a lock of a recipe is written; of a value that several libraries write alike, those of all.
// nil: not known.
func Clients(library string) []string {
	for _, s := range stringLocks() {
		if s.Name == library && s.Clients != nil {
			return slices.Clone(s.Clients)
		}
	}
	for _, s := range shapes() {
		if s.Name == library {
			return slices.Clone(s.Clients)
		}
	}
	return nil
}

// NoTTLByDefault reports whether a library writes its locks of a kind, as in the JSON, to Redis
// without an expiry unless the user sets one: redis-py (timeout=None), python-redis-lock
// (expire=None), Laravel (0 seconds), sidekiq-unique-jobs, Redisson's semaphores.
func NoTTLByDefault(library, kind string) bool {
	return library == sidekiqName || library == redissonName && kind == "semaphore" ||
		slices.ContainsFunc(stringLocks(), func(s StringLock) bool { return s.NoTTL && s.Name == library })
}
