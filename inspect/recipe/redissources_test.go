package recipe

// keySources are locks of Redis with structure.
var keySources = []written{
	{
		library: "Redisson: RLock, RSpinLock, RFencedLock, RFairLock, RReadWriteLock", recipe: redissonName, read: "66863978", file: "RedissonBaseLock.java, RedissonLock.java, RedissonFairLock.java, RedissonReadLock.java", function: "getLockName, tryLockInnerAsync",
		proof: "a hash of `uuid:thread`, with a list `redisson_lock_queue:{NAME}`, a `…:rwlock_timeout:N`, or subscribers of `redisson_lock__channel:{NAME}` or `redisson_rwlock:{NAME}` beside it",
		alike: "re-entrant locks by hand after its script: the same hash. Alone it is likely with a random UUID and a TTL, else possible", sure: Certain, ours: []string{"redissonSure"},
		is: keyed("lock:a", hash(owner, "1"), "redisson_lock__channel:{lock:a}", Value{Type: TypeChannel, Subscribers: 1}),
		near: []found{
			keyed("lock:a", hash(owner, "1")), keyed("lock:a", forever(hash(owner, "1"))), keyed("lock:a", hash("mode", "read", owner, "1")),
			keyed("lock:a", hash("0c4f1b2e-9d8a-1f6f-b1f0-a7c3d5e60718:57", "1")), keyed("lock:a", hash(owner, "1"), "redisson_lock__channel:{lock:a}", Value{Type: TypeChannel}),
			keyed("lock:a", hash(uuid+":worker", "1")),
		},
	},
	{
		library: "Redisson: RPermitExpirableSemaphore", recipe: redissonName, read: "66863978", file: "RedissonPermitExpirableSemaphore.java", function: "tryAcquireAsync",
		proof: "a number without a TTL, and `{NAME}:timeout`, a sorted set of 16 random bytes by when they end", alike: "sets of sixteen letters", sure: Certain, ours: []string{"redissonCounted"},
		is:   keyed("permits", forever(plain("1")), "{permits}:timeout", zset(ends, random)),
		near: []found{keyed("permits", forever(plain("1")), "{permits}:timeout", zset(ends, "alice-and-bob-22")), keyed("permits", forever(plain("1")), "{permits}:timeout", zset(7, random))},
	},
	{
		library: "Redisson: RSemaphore, RCountDownLatch", recipe: redissonName, read: "66863978", file: "RedissonSemaphore.java", function: "tryAcquireAsync",
		proof: "nothing: a number; subscribers of `redisson_sc:{NAME}` make it likely", alike: "every counter", sure: Likely,
		is:   keyed("permits", forever(plain("1")), "redisson_sc:{permits}", Value{Type: TypeChannel, Subscribers: 1}),
		near: []found{keyed("permits", forever(plain("1"))), keyed("semaphore:a", forever(plain("1")))},
	},
	{
		library: "rueidislock", recipe: "rueidislock", read: "0739ea9", file: "rueidislock/lock.go", function: "keyname, random, acquire",
		proof: "`rueidislock:`, a digit, a name, with 24 random bytes", alike: "none known; other values under that prefix are no lock", sure: Certain, ours: []string{"rueidisDecode"},
		is:   keyed("rueidislock:0:a", plain("0123456789abcdefghijklmn"), "rueidislock:1:a", plain("0123456789abcdefghijklmn")),
		near: []found{keyed("rueidislock:0:a", plain("on")), keyed("rueidislock:9:a", plain("0123456789abcdefghijklmn"))},
	},
	{
		library: "sidekiq-unique-jobs 7, 8, 9", recipe: sidekiqName, read: "09e14a8, 119d248", file: "lib/sidekiq_unique_jobs/lua/lock.lua, lua/lock_v9.lua", function: "HSET locked, job_id, current_time",
		proof: "`uniquejobs:`, 32 or 64 hex digits, `:LOCKED`, a hash of jobs with the time, or JSON with the worker", alike: "none known; other values are likely", sure: Certain, ours: []string{"sidekiqDecode"},
		is:   keyed("uniquejobs:"+md5Hex+":LOCKED", hash("3fae29d0c1b24e5f9a7b6c8d", "1763715600.5")),
		near: []found{keyed("uniquejobs:"+md5Hex+":LOCKED", hash("a", "7")), keyed("uniquejobs:"+md5Hex+":LOCKED", hash("a", "yes")), keyed("uniquejobs:stats:LOCKED", hash("a", "1763715600.5"))},
	},
	{
		library: "Symfony Lock's RedisStore since 5.2", recipe: "symfony", read: "02a3863", file: "Store/RedisStore.php", function: "save, saveRead, getUniqueToken",
		proof: "a sorted set of base64 of 32 bytes by when they end, with the member `__write__`", alike: "registers of sessions and of tokens; readers alone are likely under a key that names a lock, with its TTL at the last end",
		sure: Certain, ours: []string{"symfonySure"},
		is:   keyed("orders", zset(ends, base32, SymfonyWrite)),
		near: []found{keyed("sessions:alice", zset(ends, base32)), keyed("lock:orders", zset(ends, base32)), keyed("lock:orders", forever(zset(ends, base32))), keyed("orders", zset(ends, "alice", SymfonyWrite))},
	},
	{
		library: "madelson/DistributedLock (.NET): read-write lock", recipe: "madelson", read: "08c6404", file: "RedisReaderWriterLockPrimitives.cs, RedLockHelper.cs", function: "TryAcquireReadScript, CreateLockId",
		proof: "`NAME.writer` and `NAME.readers` with ids of the form MACHINE_PID_GUID, or `_WRITERWAITING` behind one", alike: "ids of that form under other keys", sure: Certain, ours: []string{"madelsonReadWrite"},
		is:   keyed("a.writer", plain(machine+madelsonWaiting)),
		near: []found{keyed("a.writer", plain(machine)), text("lock:a", machine), keyed("a.writer", plain("web1_11_"+md5Hex+madelsonWaiting)), keyed("a.readers", Value{Type: TypeSet, Items: []Item{{Name: "alice_1_" + md5Hex}}})},
	},
	{
		library: "madelson/DistributedLock (.NET): mutex", recipe: "madelson", read: "3757293", file: "RedLockHelper.cs, RedisMutexPrimitive.cs", function: "CreateLockId",
		proof: "nothing: MACHINE_PID_ and a random GUID", alike: "other programs' ids of host, process and GUID", sure: Likely,
		is: text("lock:a", machine), near: []found{text("page:1", "page_7_"+md5Hex), text("lock:a", "web1_"+guid)},
	},
	{
		library: "madelson/DistributedLock (.NET): semaphore", recipe: "madelson", read: "08c6404", file: "RedisSemaphorePrimitive.cs", function: "AcquireScript",
		proof: "nothing: a sorted set of MACHINE_PID_GUID by when they end", alike: "registers of workers", sure: Likely,
		is: keyed("semaphore:a", zset(ends, machine)), near: []found{keyed("workers", zset(7, machine)), keyed("workers", zset(ends, "web1_7_"+md5Hex))},
	},
	{
		library: "redis-semaphore (npm): Semaphore, MultiSemaphore", recipe: redisSemaphoreName, read: "5.8.0 run", file: "lib/semaphore/acquire/lua.js", function: "acquireLua",
		proof: "nothing: `semaphore:NAME`, a sorted set of UUIDs by when they came, with a TTL", alike: "other sets of times", sure: Likely,
		is:   keyed("semaphore:a", zset(float64(sourcesNow.UnixMilli()-1), uuid)),
		near: []found{keyed("semaphore:a", zset(float64(sourcesNow.UnixMilli()-1), "worker-7")), keyed("seen:a", zset(float64(sourcesNow.UnixMilli()-1), uuid)), keyed("semaphore:a", forever(zset(float64(sourcesNow.UnixMilli()-1), uuid)))},
	},
	{
		library: "redis-semaphore (npm): Mutex", recipe: redisSemaphoreName, read: "5.8.0 run", file: "lib/mutex/acquire.js", function: "acquireMutex",
		proof: "nothing: `mutex:NAME` with a UUID", alike: "node-redlock's forks, Spring, by hand", sure: Likely,
		is: text("mutex:a", uuid), near: []found{text("mutex:a", "worker-7"), text("a", uuid)},
	},
}

// programSources are plain strings of Redis whose keys name their program.
func programSources() []written {
	return []written{
		{
			library: "lockscope", recipe: lockscopeName, read: "this tree", file: "inspect/recipe/lockscope.go", function: "LockscopeToken",
			proof: "`lockscope:`, base64 of 16 bytes, a colon and a label", alike: "none", sure: Certain, ours: []string{"lockscopeToken", "lockscopeDecode"},
			is: text("lock:a", LockscopeToken([16]byte{1}, "a")), near: []found{text("lock:a", "lockscope:short:x"), text("lock:a", "lockscope:a")},
		},
		{
			library: "BullMQ", recipe: "bullmq", read: "352d3c7", file: "src/classes/worker.ts, includes/prepareJobForProcessing.lua", function: "mainLoop, prepareJobForProcessing",
			proof: "`bull:QUEUE:JOB:lock` with a random UUID, a colon and a number", alike: "Bull before it: the UUID alone, possible. Another prefix is likely", sure: Certain, ours: []string{"bullMQ"},
			is:   text("bull:mail:7:lock", uuid+":12"),
			near: []found{text("bull:mail:7:lock", uuid), text("stock:lock", uuid+":12"), text("jobs:mail:7:lock", uuid+":12"), text("bull:mail:7:lock", md5Hex+":12")},
		},
		{
			library: "RQ: scheduler", recipe: "rq", read: "00e2f78; 1.13.0 run", file: "rq/scheduler.py", function: "acquire_locks",
			proof: "`rq:scheduler-lock:QUEUE` with a process id or hex digits", alike: "none known", sure: Certain, ours: []string{"rqScheduler"},
			is: text("rq:scheduler-lock:default", "4711"), near: []found{text("rq:scheduler-lock:default", "on"), text("my:scheduler-lock:default", "4711")},
		},
		{
			library: "ShedLock in Redis", recipe: "shedlock", read: "6b4bf7a", file: "InternalRedisLockProvider.java", function: "buildKey, buildValue",
			proof: "`job-lock:ENV:NAME` with `ADDED:`, an instant, `@`, a host, and a UUID", alike: "audit trails: under another prefix it is likely only where that names a lock", sure: Certain, ours: []string{"shedLockRedis"},
			is:   text("job-lock:default:a", "ADDED:2026-11-21T09:00:00.123Z@batch-7:"+uuid),
			near: []found{text("audit:7", "ADDED:2026-11-21T09:00:00.123Z@batch-7:"+uuid), text("job-lock:default:a", "ADDED:7"), text("job-lock:default:a", uuid)},
		},
		{
			library: "RedBeat", recipe: "redbeat", read: "0007087", file: "redbeat/schedulers.py", function: "RedBeatConfig, acquire_distributed_beat_lock",
			proof: "`redbeat::lock` with a redis-py token", alike: "the same under another prefix is likely or possible", sure: Certain, ours: []string{"redbeatLock"},
			is: text("redbeat::lock", uuid1), near: []found{text("redbeat::lock", guid), text("prod-redbeat::lock", uuid1), text("app::lock", uuid1)},
		},
	}
}

// tokenSources are plain strings of Redis that only their value can name.
func tokenSources() []written {
	return []written{
		{
			library: "redis-py, and what uses it: tooz, celery-once, kombu, django-redis, dogpile", recipe: "redis-py", read: "34817ce; 4.3.4 run", file: "redis/lock.py", function: "acquire",
			proof: "nothing: a version 1 UUID as 32 hex digits", alike: "ids of requests and messages: likely only under a key that names a lock", sure: Likely,
			is: text("lock:a", uuid1), near: []found{text("request:a", uuid1), text("lock:a", guid), text("lock:a", uuidV1)},
		},
		{
			library: "node-redlock, redlock-universal, @sesamecare-oss/redlock", recipe: "node-redlock", read: "v5, 4.2.0", file: "src/index.ts", function: "acquire",
			proof: "nothing: 32 hex digits", alike: "every MD5 digest and UUID", sure: Possible, is: text("lock:a", md5Hex),
		},
		{
			library: "redsync", recipe: "redsync", read: "v4.18.1", file: "mutex.go", function: "genValue",
			proof: "nothing: base64 of 16 bytes", alike: "tokens of sessions and mails: likely only under a key that names a lock", sure: Likely,
			is: text("lock:a", base16), near: []found{text("session:a", base16), text("unlock:a", base16)},
		},
		{
			library: "Symfony Lock before 5.2, in Redis", recipe: "symfony", read: "4.4", file: "Store/RedisStore.php", function: "save",
			proof: "nothing: base64 of 32 bytes", alike: "tokens of sessions: likely only under a key that names a lock", sure: Likely,
			is: text("lock:a", base32), near: []found{text("refresh:alice", base32)},
		},
		{
			library: "python-redis-lock", recipe: "python-redis-lock", read: "004333a (3.3.0)", file: "src/redis_lock/__init__.py", function: "Lock.acquire",
			proof: "nothing: `lock:NAME` with base64 of 18 bytes", alike: "tokens under that prefix", sure: Likely,
			is: text("lock:a", base18), near: []found{text("lock:a", base18[:20]), text("session:a", base18)},
		},
		{
			library: "ioredis-lock", recipe: "token", read: "4.0.0 run", file: "lib/lock.js", function: "acquire",
			proof: "nothing: a version 1 UUID", alike: "other ids", sure: Possible, is: text("app:lock:one", uuidV1),
		},
		{
			library: "RedLock.net, pottery", recipe: "redlock.net", read: "2.3.2, 3.0.0", file: "RedLock.cs, redlock.py", function: "Start, acquire",
			proof: "nothing: `redlock:NAME` with a random UUID", alike: "by hand", sure: Likely, is: text("redlock:a", uuid), near: []found{text("redlock:a", uuidV1), text("a", uuid)},
		},
		{
			library: "Spring Integration: RedisLockRegistry; also redlock-rb, aioredlock, Sherlock, Hangfire", recipe: "spring-integration", read: "main of 2026", file: "RedisLockRegistry.java", function: "obtainLock",
			proof: "nothing: a random UUID", alike: "everything with ids", sure: Possible, is: text("registry:a", uuid),
		},
		{
			library: "Laravel: cache locks, unique jobs; go-zero", recipe: "laravel", read: "framework of 2026", file: "Cache/Lock.php, Bus/UniqueLock.php", function: "__construct, getKey",
			proof: "nothing: 16 letters and digits; the usual prefixes make it likely", alike: "every short token", sure: Likely,
			is: text("laravel-cache-laravel_unique_job:A:1", "aB3dE6gH9jK2mN5p"), near: []found{text("lock:a", "aB3dE6gH9jK2mN5p"), text("lock:a", "abcdefghijklmnop")},
		},
		{
			library: "bsm/redislock", recipe: "redislock", read: "v0.9.4", file: "redislock.go", function: "randomToken",
			proof: "nothing: 22 characters of base64", alike: "short ids: likely only under a key that names a lock, possible with metadata", sure: Likely,
			is: text("lock:a", url16), near: []found{text("user:a", url16), text("lock:a", url16+"meta")},
		},
		{
			library: "Dapr: lock.redis", recipe: "dapr", read: "runtime, components-contrib of 2026", file: "pkg/components/lock/lock_config.go, lock/redis/standalone.go", function: "GetModifiedLockKey, TryLock",
			proof: "nothing: `lock||APP||NAME` with any owner", alike: "by hand", sure: Likely, is: text("lock||app||orders", "w"), near: []found{text("lock|app|orders", "w"), text("app||orders", "w")},
		},
	}
}
