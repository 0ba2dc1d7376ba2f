package recipe

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write docs/recipes.md anew")

// found: a recipe takes something on a server for its own, and how sure it is.
type found struct {
	recipe string
	sure   Confidence
}

// written is one way in which a library writes a lock, as its source has it.
type written struct {
	library, recipe string
	// read: the version that was read, its file, and the function that writes.
	read, file, function string
	// proof: marks that no other program leaves; alike: programs that write the same or nearly so.
	proof, alike string
	// sure: the most that we call it; ours: our functions that may say certain.
	sure Confidence
	ours []string
	// is: what the library writes, as we read it; near: other programs' data that look alike, which are none of it or less sure.
	is   found
	near []found
}

const session = 0x1000012e47a0000

// child is a znode of that name, of the session that made it, with data; session 0 is a persistent one.
func child(name string, session int64, data string) found {
	_, entries := Read([]string{name})
	if len(entries) == 0 {
		return found{}
	}
	e := entries[0]
	e.Session = session
	if c := Proved(e, []byte(data), false); c != "" {
		return found{e.Recipe, c}
	}
	return found{sequentialName, Possible}
}

// texts are the keys and values of the table, once it was made.
var texts [][2]string

func text(key, value string) found {
	texts = append(texts, [2]string{key, value})
	t := DecodeToken(key, value)
	return found{t.Recipe, t.Confidence}
}

// keyed reads the value of a key that ends in a minute, with others beside it; the score now of a sorted set is that end.
func keyed(key string, main Value, beside ...any) found {
	k := Keys{Key: key, Main: main, Named: true, Now: sourcesNow, Beside: map[string]Value{}}
	if k.Main.ExpiresAt.IsZero() && !k.Main.NoExpiry {
		k.Main.ExpiresAt = inAMinute
	}
	for i := 0; i+1 < len(beside); i += 2 {
		k.Beside[beside[i].(string)] = beside[i+1].(Value)
	}
	r, _ := DecodeKeys(k)
	return found{r.Recipe, r.Confidence}
}

var (
	sourcesNow = time.UnixMilli(1795317377191)
	inAMinute  = sourcesNow.Add(time.Minute)
	ends       = float64(inAMinute.UnixMilli())
)

func forever(v Value) Value { v.NoExpiry = true; return v }

func plain(s string) Value { return Value{Type: TypeString, Text: s} }

func alone(dir, data string, ephemeral bool) found {
	s, _ := ReadSingle(dir, []byte(data), ephemeral, true)
	return found{s.Recipe, s.Confidence}
}

func lease(data string) found {
	s, ok := ReadLease([]byte(data))
	if !ok {
		return found{}
	}
	return found{s.Recipe, s.Confidence}
}

func sources() []written {
	const (
		md5Hex  = "5d41402abc4b2a76b9719d911017c592"
		base32  = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=" // of 32 bytes
		base16  = "Y2NjY2NjY2NjY2NjY2NjYw=="
		base18  = "YWFhYWFhYWFhYWFhYWFhYWFh"
		url16   = "YWFhYWFhYWFhYWFhYWFhYQ"
		owner   = uuid + ":57"
		random  = "\x00\xff0123456789abcd"
		machine = "web1_11_" + guid
	)
	mine := fmt.Sprint(int64(session))
	return []written{
		{
			library: "Apache Curator: InterProcessMutex, LeaderSelector, LeaderLatch, InterProcessReadWriteLock, InterProcessSemaphoreV2", recipe: "curator",
			read: "88dee99a; 5.4.0 run", file: "StandardLockInternalsDriver.java, ProtectedUtils.java, LeaderLatch.java", function: "createsTheLock, toProtectedName",
			proof: "`_c_`, a UUID with dashes, a dash, then `lock-`, `latch-`, `lease-`, `__READ__` or `__WRIT__`, then the server's number, and nothing else",
			alike: "zookeeper-client-rust's `new_curator` and our own contenders, made to queue with it; any other node of Curator's `withProtection` has another word. The deprecated InterProcessSemaphore writes the names of a mutex: its watches tell",
			sure:  Certain, ours: []string{"parseCurator", "curatorSemaphore"},
			is: child("_c_"+uuid+"-lock-0000000007", session, "10.0.0.7"),
			near: []found{
				child("_c_"+uuid+"-member-0000000007", session, "x"), child("_c_"+uuid+"-lock-7", session, ""),
				child("_c_"+strings.ToUpper(uuid)+"-lock-0000000007", session, ""), child("_c_"+uuid+"_lock-0000000007", session, ""),
			},
		},
		{
			library: "kazoo: Lock, WriteLock, ReadLock, Election; Semaphore", recipe: "kazoo", read: "4476a3b; 2.8.0 run", file: "kazoo/recipe/lock.py", function: "_inner_acquire",
			proof: "32 hex digits, `__lock__` or `__rlock__`, the server's number. A Semaphore: the number of permits as its directory's data, and the directory `PATH-__lock__` beside it",
			alike: "none known; parties (`__party__`) and double barriers have other words. A permit alone is 32 hex digits, and possible",
			sure:  Certain, ours: []string{"parseKazoo", "kazooSemaphore"},
			is:   child(guid+"__lock__0000000001", session, "worker"),
			near: []found{child(guid, session, "worker"), child(guid+"__party__", session, ""), child(guid+"__lock__", session, ""), child(guid+"-host-1", session, "")},
		},
		{
			library: "kazoo: NonBlockingLease", recipe: "kazoo", read: "2.8.0", file: "kazoo/recipe/lease.py", function: "_attempt_obtaining",
			proof: "a persistent node `lease_holder` with the JSON fields version (1), holder and end, the latter to the second and without a zone",
			alike: "none known; other data under that name is possible at most", sure: Certain, ours: []string{"ReadLease"},
			is:   lease(`{"version": 1, "holder": "a", "end": "2026-11-21T09:00:00"}`),
			near: []found{lease(`{"version": 2, "holder": "a", "end": "2026-11-21T09:00:00"}`), lease(`{"version": 1, "holder": "a", "end": "2026-11-21T09:00:00Z"}`), lease(`{"holder": "a", "end": "2026-11-21T09:00:00"}`)},
		},
		{
			library: "go-zookeeper: Lock", recipe: "go-zookeeper", read: "v1.0.4", file: "lock.go, conn.go", function: "LockWithData, CreateProtectedEphemeralSequential",
			proof: "`_c_`, 32 hex digits without dashes, `-lock-`, the server's number",
			alike: "a program's own call of CreateProtectedEphemeralSequential with the word `lock-`", sure: Certain, ours: []string{"parseGoZooKeeper"},
			is:   child("_c_"+guid+"-lock-0000000001", session, ""),
			near: []found{child("_c_"+guid+"-member-0000000001", session, ""), child("_c_"+guid[:31]+"-lock-0000000001", session, ""), child(guid+"-lock-0000000001", session, "")},
		},
		{
			library: "ZooKeeper's own recipes: WriteLock (Java), zoo_lock (C)", recipe: "zookeeper-recipes", read: "0e5a074, 2a1d66c; 3.8.0 run", file: "WriteLock.java, zoo_lock.c", function: "LockZooKeeperOperation.execute, zkr_lock_operation",
			proof: "`x-`, the very id of the session that made the ephemeral node (in decimal from Java, in 16 hex digits from C), a dash, the server's number",
			alike: "any name `x-NUMBER-`: where the number is not the owner's session it is an unknown queue", sure: Certain, ours: []string{"bySession"},
			is: child("x-"+mine+"-0000000003", session, "\x12\x34"),
			near: []found{
				child("x-7-0000000003", session, ""), child("x-1795317377191-0000000003", session, ""), child("x-"+mine+"-0000000003", session+1, ""),
				child("x-"+mine+"-0000000003", 0, ""), child("x-01000012e47a0001-0000000003", session, ""),
			},
		},
		{
			library: "ZooKeeper's own recipes: LeaderElectionSupport", recipe: "zookeeper-recipes", read: "53a78e3", file: "LeaderElectionSupport.java", function: "makeOffer",
			proof: "nothing: `n_` and the server's number", alike: "elections after the tutorials", sure: Likely,
			is: child("n_0000000001", session, "host"), near: []found{child("n-0000000001", session, ""), child("node_0000000001", session, "")},
		},
		{
			library: "HBase before 2.0: table locks", recipe: "hbase", read: "branch-1", file: "ZKInterProcessLockBase.java, RecoverableZooKeeper.java, TableLockManager.java", function: "createLockZNode, createSequential, toBytes",
			proof: "`read-` or `write-`, NAME:PORT, the server's number, and data that begin with `PBUF`", alike: "readers and writers that are named by their address",
			sure: Certain, ours: []string{"hbase"},
			is:   child("read-regionserver:600200000000002", session, "PBUF\n\x07default"),
			near: []found{child("read-10.0.0.7:80800000000002", session, "10.0.0.7"), child("write-web:80800000000002", session, ""), child("read-regionserver:600200000000002", session, `{"owner":1}`)},
		},
		{
			library: "Hive: ZooKeeperHiveLockManager", recipe: "hive", read: "012070c", file: "ZooKeeperHiveLockManager.java, HiveLockObject.java", function: "getLockName, lockPrimitive",
			proof: "`LOCK-SHARED-`, `LOCK-SEMI_SHARED-` or `LOCK-EXCLUSIVE-`, the server's number, and data whose third field is EXPLICIT or IMPLICIT", alike: "read-write locks by hand with these words",
			sure: Certain, ours: []string{"hive"},
			is:   child("LOCK-SHARED-0000000001", 0, "hive_20261121:1763720000:EXPLICIT:lock table a:10.0.0.9"),
			near: []found{child("LOCK-SHARED-0000000001", session, "reader 7"), child("LOCK-EXCLUSIVE-0000000001", 0, ""), child("LOCK-EXCLUSIVE-0000000001", session, "a:b:c:d")},
		},
		{
			library: "Solr: elections", recipe: "solr", read: "02c81f8", file: "LeaderElector.java", function: "joinElection",
			proof: "the very id of the session that made the ephemeral node, a dash, a name, `-n_`, a number", alike: "names that happen to have the form; not of their own session",
			sure: Certain, ours: []string{"bySession"},
			is:   child(mine+"-core_node1-n_0000000005", session, ""),
			near: []found{child("7-shard-n_0000000005", session, ""), child("20261121-job-n_0000000005", session, ""), child(mine+"-core_node1-n_0000000005", 0, "")},
		},
		{
			library: "madelson/DistributedLock (.NET) in ZooKeeper", recipe: "madelson", read: "master of 2026", file: "ZooKeeperDistributedReaderWriterLock.cs, ZooKeeperSynchronizationHelper.cs", function: "TryAcquireAsync",
			proof: "nothing: `read-`, `write-` or `semaphore-` and the server's number; a semaphore's node with the data ACQUIRED makes it likely", alike: "the recipes page of ZooKeeper, and who follows it", sure: Possible,
			is: child("read-0000000001", session, ""), near: []found{child("read-0000000001", session, "10.0.0.7"), child("reader-0000000001", session, "")},
		},
		{
			library: "zk (Ruby): exclusive, shared, election", recipe: "zk-ruby", read: "master of 2026", file: "lib/zk/locker/*.rb, lib/zk/election/base.rb", function: "create_lock_path!, vote!",
			proof: "nothing: `ex`, `sh` or `ballot` and the server's number", alike: "short names of others", sure: Likely,
			is: child("ex0000000001", session, ""), near: []found{child("exe0000000001", session, ""), child("ex-0000000001", session, "")},
		},
		{
			library: "other queues: tutorials, rust-zookeeper, node-zookeeper-client, zkpython; ClickHouse, Kafka, Dubbo and registers of members, which are none", recipe: sequentialName, read: "-", file: "-", function: "-",
			proof: "nothing: ephemeral nodes that the server numbered. Likely once their sessions are seen to watch the one before them, and only that", alike: "members, jobs, block numbers, services", sure: Possible,
			is: child("lock-0000000001", session, ""),
		},
		{
			library: "ShedLock in ZooKeeper", recipe: "shedlock", read: "047f25b", file: "ZookeeperCuratorLockProvider.java", function: "createNode, serialize",
			proof: "nothing: a persistent node in a directory `shedlock` whose data is an instant", alike: "anybody's instant in a directory of that name", sure: Likely,
			is:   alone("/shedlock", "2026-11-21T09:00:00.123Z", false),
			near: []found{alone("/shedlock", "x", false), alone("/jobs", "2026-11-21T09:00:00.123Z", false)},
		},
		{
			library: "Helix: ZKDistributedNonblockingLock", recipe: "helix", read: "1e9b660", file: "LockInfo.java, HelixLockScope.java", function: "setLockInfoFields",
			proof: "a persistent node below CLUSTER/LOCK/CLUSTER, PARTICIPANT or RESOURCE, with a ZNRecord `LOCK` that has OWNER, MESSAGE and TIMEOUT", alike: "none known", sure: Certain, ours: []string{"readHelix"},
			is: alone("/c/LOCK/RESOURCE", `{"id":"LOCK","simpleFields":{"OWNER":"a","MESSAGE":"","TIMEOUT":"1795317377191"}}`, false),
			near: []found{
				alone("/c/LOCK/RESOURCE", `{"id":"LOCK","simpleFields":{"OWNER":"a"}}`, false), alone("/c/CONFIGS/RESOURCE", `{"id":"LOCK","simpleFields":{"OWNER":"a","MESSAGE":"","TIMEOUT":"1"}}`, false),
				alone("/c/LOCK/RESOURCE", `{"id":"db","simpleFields":{"OWNER":"a","MESSAGE":"","TIMEOUT":"1"}}`, false),
			},
		},
		{
			library: "Symfony Lock in ZooKeeper", recipe: "symfony", read: "7.1", file: "Store/ZookeeperStore.php", function: "createNewLock",
			proof: "nothing: an ephemeral node at the root with base64 of 32 bytes", alike: "a token of another program", sure: Likely,
			is: alone("/", base32, true), near: []found{alone("/", "web-1", true), alone("/app", base32, true)},
		},
		{
			library: "one ephemeral node alone: Patroni, Hadoop's ActiveStandbyElector, Helix' controller, Kafka's, ClickHouse's ZooKeeperLock", recipe: "ephemeral", read: "-", file: "-", function: "-",
			proof: "nothing", alike: "any presence", sure: Possible, is: alone("/service/pg/leader", "pg-1", true),
		},
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

// Every way of writing a lock that is recognised stands in the table, is read as it says, and what looks alike is not.
func TestEveryRecipeWasHeldAgainstItsLibrary(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range sources() {
		seen[w.recipe] = true
		if w.is != (found{w.recipe, w.sure}) {
			t.Errorf("%s: read as %+v, want %s, %s", w.library, w.is, w.recipe, w.sure)
		}
		if w.sure != Possible && len(w.near) == 0 || w.sure == Certain && len(w.ours) == 0 {
			t.Errorf("%s has no near miss, or nobody who says certain", w.library)
		}
		for i, n := range w.near {
			if rank(n.sure) > rank(Likely) || n.recipe == w.recipe && rank(n.sure) >= rank(w.sure) {
				t.Errorf("%s: near miss %d is read as %+v", w.library, i, n)
			}
		}
		if w.read == "" || w.file == "" || w.function == "" || w.proof == "" || (w.sure == Certain) == strings.HasPrefix(w.proof, "nothing") {
			t.Errorf("%s: the row is not whole: %+v", w.library, w)
		}
	}
	for _, q := range Queues() {
		if !seen[q.Name] {
			t.Errorf("no row for the queues of %s", q.Name)
		}
	}
	for _, s := range shapes() {
		if s.Decode != nil && !seen[s.Name] {
			t.Errorf("no row for the keys of %s", s.Name)
		}
	}
	for i, decode := range tokens() {
		if !slices.ContainsFunc(texts, func(e [2]string) bool { _, ok := decode(e[0], e[1]); return ok }) {
			t.Errorf("no row has a value that decoder %d of tokens takes", i)
		}
	}
}

func rank(c Confidence) int { return slices.Index([]Confidence{"", Possible, Likely, Certain}, c) }

// Whoever says certain stands in a row of the table: a new recipe cannot without being held against its library.
func TestWhoeverSaysCertainHasARow(t *testing.T) {
	var allowed []string
	for _, w := range sources() {
		allowed = append(allowed, w.ours...)
	}
	files := []string{"../semaphore.go"}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
			files = append(files, e.Name())
		}
	}
	said := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && saysCertain(f.Body) {
				said[f.Name.Name] = true
				if !slices.Contains(allowed, f.Name.Name) {
					t.Errorf("%s: %s says certain, and no row of sources says why it may", file, f.Name.Name)
				}
			}
		}
	}
	for _, w := range sources() {
		for _, name := range w.ours {
			if !said[name] {
				t.Errorf("%s: %s does not say certain", w.library, name)
			}
		}
	}
}

// saysCertain reports whether a function uses Certain other than to compare with it, or as the field of a Queue.
func saysCertain(body ast.Node) bool {
	says := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				return false
			}
		case *ast.KeyValueExpr:
			ast.Inspect(n.Value, func(v ast.Node) bool {
				says = says || isCertain(v)
				return true
			})
			return false
		case *ast.Ident:
			says = says || isCertain(n)
		}
		return true
	})
	return says
}

func isCertain(n ast.Node) bool {
	id, ok := n.(*ast.Ident)
	return ok && id.Name == "Certain"
}

// The page for people is this table.
func TestThePageOfRecipes(t *testing.T) {
	const page = "../../docs/recipes.md"
	var b strings.Builder
	b.WriteString(`# What is called whose lock, and why

lockscope says of each lock which library wrote it, and how sure that is (` + "`recipe`, `recipe_confidence`" + `). *Certain* is only what nothing
else can have written, by the library's own source; *likely* is what others hardly write; *possible* is a guess, on which
no alarm is raised and no action advised. This page is written by the test that holds each row, and what looks like it,
against the code (` + "`inspect/recipe/sources_test.go`" + `).

| library | as | called, at most | what cannot be otherwise | who writes alike | read | where it is written |
|---|---|---|---|---|---|---|
`)
	rows := sources()
	slices.SortStableFunc(rows, func(a, b written) int { return cmp.Compare(rank(b.sure), rank(a.sure)) })
	for _, w := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s: %s |\n", w.library, w.recipe, w.sure, w.proof, w.alike, w.read, w.file, w.function)
	}
	want := strings.ReplaceAll(b.String(), "| -: - |", "| - |")
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/recipes.md is not the table: go test ./inspect/recipe -run PageOfRecipes -update")
	}
}
