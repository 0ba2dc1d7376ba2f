package recipe

// keySources are the structured locks of Redis.
var keySources = []written{
	{
		library: "Redisson: RLock, RSpinLock, RFencedLock, RFairLock, RReadWriteLock", recipe: redissonName, read: "66863978", file: "RedissonBaseLock.java, RedissonLock.java, RedissonFairLock.java, RedissonReadLock.java", function: "getLockName, tryLockInnerAsync",
		proof: "a hash of `uuid:thread`, and a list `redisson_lock_queue:{NAME}`, a `…:rwlock_timeout:N`, or subscribers of `redisson_lock__channel:{NAME}` or `redisson_rwlock:{NAME}`",
		alike: "none known; the hash alone is likely with a random UUID and a TTL, else possible", sure: Certain, ours: []string{"redissonSure"},
		is: keyed("lock:a", hash(owner, "1"), "redisson_lock__channel:{lock:a}", Value{Type: TypeChannel, Subscribers: 1}),
		near: []found{
			keyed("lock:a", hash(owner, "1")), keyed("lock:a", forever(hash(owner, "1"))), keyed("lock:a", hash("mode", "read", owner, "1")),
			keyed("lock:a", hash("0c4f1b2e-9d8a-1f6f-b1f0-a7c3d5e60718:57", "1")), keyed("lock:a", hash(owner, "1"), "redisson_lock__channel:{lock:a}", Value{Type: TypeChannel}),
			keyed("lock:a", hash(uuid+":worker", "1")),
		},
	},
	{
		library: "Redisson: RPermitExpirableSemaphore", recipe: redissonName, read: "66863978", file: "RedissonPermitExpirableSemaphore.java", function: "tryAcquireAsync",
		proof: "a number without a TTL, and `{NAME}:timeout`, a sorted set of 16 random bytes, scored by expiry", alike: "sets of sixteen letters", sure: Certain, ours: []string{"redissonCounted"},
		is:   keyed("permits", forever(plain("1")), "{permits}:timeout", zset(ends, random)),
		near: []found{keyed("permits", forever(plain("1")), "{permits}:timeout", zset(ends, "alice-and-bob-22")), keyed("permits", forever(plain("1")), "{permits}:timeout", zset(7, random))},
	},
	{
		library: "Redisson: RSemaphore", recipe: redissonName, read: "66863978", file: "RedissonSemaphore.java", function: "tryAcquireAsync",
		proof: "a number, and subscribers of `redisson_sc:{NAME}`", alike: "every counter", sure: Likely,
		is:   keyed("permits", forever(plain("1")), "redisson_sc:{permits}", Value{Type: TypeChannel, Subscribers: 1}),
		near: []found{keyed("permits", forever(plain("1"))), keyed("semaphore:a", forever(plain("1")))},
	},
	{
		library: "rueidislock", recipe: "rueidislock", read: "0739ea9", file: "rueidislock/lock.go", function: "keyname, random, acquire",
		proof: "`rueidislock:DIGIT:NAME` with 24 random bytes", alike: "none known; other values under that prefix are not a lock", sure: Certain, ours: []string{"rueidisDecode"},
		is:   keyed("rueidislock:0:a", plain("0123456789abcdefghijklmn"), "rueidislock:1:a", plain("0123456789abcdefghijklmn")),
		near: []found{keyed("rueidislock:0:a", plain("on")), keyed("rueidislock:9:a", plain("0123456789abcdefghijklmn"))},
	},
	{
		library: "sidekiq-unique-jobs 7, 8, 9", recipe: sidekiqName, read: "09e14a8, 119d248", file: "lib/sidekiq_unique_jobs/lua/lock.lua, lua/lock_v9.lua", function: "HSET locked, job_id, current_time",
		proof: "`uniquejobs:`, 32 or 64 hex digits, `:LOCKED`, a hash of jobs", alike: "none known; other values, and another prefix, are likely", sure: Certain, ours: []string{"sidekiqDecode"},
		is:   keyed("uniquejobs:"+md5Hex+":LOCKED", hash("3fae29d0c1b24e5f9a7b6c8d", "1763715600.5")),
		near: []found{keyed("uniquejobs:"+md5Hex+":LOCKED", hash("a", "7")), keyed("uniquejobs:"+md5Hex+":LOCKED", hash("a", "yes")), keyed("uniquejobs:stats:LOCKED", hash("a", "1763715600.5"))},
	},
	{
		library: "Symfony Lock's RedisStore since 5.2", recipe: "symfony", read: "02a3863", file: "Store/RedisStore.php", function: "save, saveRead, getUniqueToken",
		proof: "a sorted set of base64 of 32 bytes, scored by expiry, with the member `__write__`", alike: "none known; readers alone are likely if the key names a lock and its TTL is the last expiry",
		sure: Certain, ours: []string{"symfonySure"},
		is:   keyed("orders", zset(ends, base32, SymfonyWrite)),
		near: []found{keyed("sessions:alice", zset(ends, base32)), keyed("lock:orders", zset(ends, base32)), keyed("lock:orders", forever(zset(ends, base32))), keyed("orders", zset(ends, "alice", SymfonyWrite))},
	},
	{
		library: "madelson/DistributedLock (.NET): read-write lock", recipe: "madelson", read: "08c6404", file: "RedisReaderWriterLockPrimitives.cs, RedLockHelper.cs", function: "TryAcquireReadScript, CreateLockId",
		proof: "`NAME.writer` and `NAME.readers` with ids of the form MACHINE_PID_GUID, or `_WRITERWAITING` after one", alike: "ids of that form under other keys", sure: Certain, ours: []string{"madelsonReadWrite"},
		is:   keyed("a.writer", plain(machine+madelsonWaiting)),
		near: []found{keyed("a.writer", plain(machine)), text("lock:a", machine), keyed("a.writer", plain("web1_11_"+md5Hex+madelsonWaiting)), keyed("a.readers", Value{Type: TypeSet, Items: []Item{{Name: "alice_1_" + md5Hex}}})},
	},
	{
		library: "madelson/DistributedLock (.NET): semaphore", recipe: "madelson", read: "08c6404", file: "RedisSemaphorePrimitive.cs", function: "AcquireScript",
		proof: "a sorted set of MACHINE_PID_GUID, scored by expiry", alike: "worker registries", sure: Likely,
		is: keyed("semaphore:a", zset(ends, machine)), near: []found{keyed("workers", zset(7, machine)), keyed("workers", zset(ends, "web1_7_"+md5Hex))},
	},
	{
		library: "redis-semaphore (npm): Semaphore, MultiSemaphore", recipe: redisSemaphoreName, read: "5.8.0 run", file: "lib/semaphore/acquire/lua.js", function: "acquireLua",
		proof: "`semaphore:NAME`, a sorted set of UUIDs, scored by start, with a TTL", alike: "other sets of times", sure: Likely,
		is:   keyed("semaphore:a", zset(float64(sourcesNow.UnixMilli()-1), uuid)),
		near: []found{keyed("semaphore:a", zset(float64(sourcesNow.UnixMilli()-1), "worker-7")), keyed("seen:a", zset(float64(sourcesNow.UnixMilli()-1), uuid)), keyed("semaphore:a", forever(zset(float64(sourcesNow.UnixMilli()-1), uuid)))},
	},
}
