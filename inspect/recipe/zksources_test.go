package recipe

import (
	"fmt"
	"strings"
)

// recipeSources are the queues of libraries whose recipe other programs reuse.
func recipeSources() []written {
	mine := fmt.Sprint(int64(session))
	return []written{
		{
			library: "Apache Curator: InterProcessMutex, LeaderSelector, LeaderLatch, InterProcessReadWriteLock, InterProcessSemaphoreV2", recipe: "curator",
			read: "88dee99a; 5.4.0 run", file: "StandardLockInternalsDriver.java, ProtectedUtils.java, LeaderLatch.java", function: "createsTheLock, toProtectedName",
			proof: "`_c_UUID-`, then `lock-`, `latch-`, `lease-`, `__READ__` or `__WRIT__`, and a sequence number",
			alike: "zookeeper-client-rust's `new_curator` and lockscope, which queue with it. The deprecated InterProcessSemaphore looks like a mutex without watches",
			sure:  Certain, ours: []string{"parseCurator", "curatorSemaphore"},
			is: child("_c_"+uuid+"-lock-0000000007", session, "10.0.0.7"),
			near: []found{
				child("_c_"+uuid+"-member-0000000007", session, "x"), child("_c_"+uuid+"-lock-7", session, ""),
				child("_c_"+strings.ToUpper(uuid)+"-lock-0000000007", session, ""), child("_c_"+uuid+"_lock-0000000007", session, ""),
			},
		},
		{
			library: "kazoo: Lock, WriteLock, ReadLock, Election; Semaphore", recipe: "kazoo", read: "4476a3b; 2.8.0 run", file: "kazoo/recipe/lock.py", function: "_inner_acquire",
			proof: "32 hex digits, `__lock__` or `__rlock__`, a sequence number. A Semaphore: also the directory `PATH-__lock__`, with the number of permits",
			alike: "none known; a permit alone (32 hex digits) is possible",
			sure:  Certain, ours: []string{"parseKazoo", "kazooSemaphore"},
			is:   child(guid+"__lock__0000000001", session, "worker"),
			near: []found{child(guid, session, "worker"), child(guid+"__party__", session, ""), child(guid+"__lock__", session, ""), child(guid+"-host-1", session, "")},
		},
		{
			library: "go-zookeeper: Lock", recipe: "go-zookeeper", read: "v1.0.4", file: "lock.go, conn.go", function: "LockWithData, CreateProtectedEphemeralSequential",
			proof: "`_c_HEX-lock-SEQUENCE`, with 32 hex digits",
			alike: "a program's own call of CreateProtectedEphemeralSequential with the word `lock-`", sure: Certain, ours: []string{"parseGoZooKeeper"},
			is:   child("_c_"+guid+"-lock-0000000001", session, ""),
			near: []found{child("_c_"+guid+"-member-0000000001", session, ""), child("_c_"+guid[:31]+"-lock-0000000001", session, ""), child(guid+"-lock-0000000001", session, "")},
		},
		{
			library: "ZooKeeper's own recipes: WriteLock (Java), zoo_lock (C)", recipe: "zookeeper-recipes", read: "0e5a074, 2a1d66c; 3.8.0 run", file: "WriteLock.java, zoo_lock.c", function: "LockZooKeeperOperation.execute, zkr_lock_operation",
			proof: "`x-SESSION-SEQUENCE`, with the node's session id (decimal, or 16 hex digits)",
			alike: "any name `x-NUMBER-`: an unknown queue unless the number is the owner's session", sure: Certain, ours: []string{"bySession"},
			is: child("x-"+mine+"-0000000003", session, "\x12\x34"),
			near: []found{
				child("x-7-0000000003", session, ""), child("x-1795317377191-0000000003", session, ""), child("x-"+mine+"-0000000003", session+1, ""),
				child("x-"+mine+"-0000000003", 0, ""), child("x-01000012e47a0001-0000000003", session, ""),
			},
		},
		{
			library: "Accumulo: service locks", recipe: "accumulo", read: "0bc11f0", file: "ServiceLock.java", function: "lock, validateAndSort",
			proof: "`zlock#UUID#SEQUENCE`", alike: "none known; `zlock-`, written before 2.0, is likely",
			sure: Certain, ours: []string{"parseAccumulo"},
			is:   child("zlock#"+uuid+"#0000000001", session, "host:9999"),
			near: []found{child("zlock-0000000001", session, ""), child("zlock#7#0000000001", session, ""), child("zlock#"+uuid+"0000000001", session, "")},
		},
		{
			library: "ZooKeeper's own recipes: LeaderElectionSupport", recipe: "zookeeper-recipes", read: "53a78e3", file: "LeaderElectionSupport.java", function: "makeOffer",
			proof: "`n_SEQUENCE`", alike: "elections as in the tutorials", sure: Likely,
			is: child("n_0000000001", session, "host"), near: []found{child("n-0000000001", session, ""), child("node_0000000001", session, "")},
		},
	}
}

// queueSources are the other queues in ZooKeeper.
func queueSources() []written {
	mine := fmt.Sprint(int64(session))
	return []written{
		{
			library: "HBase before 2.0: table locks", recipe: "hbase", read: "branch-1", file: "ZKInterProcessLockBase.java, RecoverableZooKeeper.java, TableLockManager.java", function: "createLockZNode, createSequential, toBytes",
			proof: "`read-` or `write-`, NAME:PORT, a sequence number, and data that begin with `PBUF`", alike: "readers and writers named by their address",
			sure: Certain, ours: []string{"hbase"},
			is:   child("read-regionserver:600200000000002", session, "PBUF\n\x07default"),
			near: []found{child("read-10.0.0.7:80800000000002", session, "10.0.0.7"), child("write-web:80800000000002", session, ""), child("read-regionserver:600200000000002", session, `{"owner":1}`)},
		},
		{
			library: "Hive: ZooKeeperHiveLockManager", recipe: "hive", read: "012070c", file: "ZooKeeperHiveLockManager.java, HiveLockObject.java", function: "getLockName, lockPrimitive",
			proof: "`LOCK-SHARED-`, `LOCK-SEMI_SHARED-` or `LOCK-EXCLUSIVE-`, a sequence number; the data's third field is EXPLICIT or IMPLICIT", alike: "hand-made read-write locks with these words",
			sure: Certain, ours: []string{"hive"},
			is:   child("LOCK-SHARED-0000000001", 0, "hive_20261121:1763720000:EXPLICIT:lock table a:10.0.0.9"),
			near: []found{child("LOCK-SHARED-0000000001", session, "reader 7"), child("LOCK-EXCLUSIVE-0000000001", 0, ""), child("LOCK-EXCLUSIVE-0000000001", session, "a:b:c:d")},
		},
		{
			library: "Solr: elections", recipe: "solr", read: "02c81f8", file: "LeaderElector.java", function: "joinElection",
			proof: "`SESSION-NAME-n_SEQUENCE`, with the node's session id", alike: "names of the same form, with another session's id",
			sure: Certain, ours: []string{"bySession"},
			is:   child(mine+"-core_node1-n_0000000005", session, ""),
			near: []found{child("7-shard-n_0000000005", session, ""), child("20261121-job-n_0000000005", session, ""), child(mine+"-core_node1-n_0000000005", 0, "")},
		},
		{
			library: "madelson/DistributedLock (.NET) in ZooKeeper", recipe: "madelson", read: "master of 2026", file: "ZooKeeperDistributedReaderWriterLock.cs, ZooKeeperSynchronizationHelper.cs", function: "TryAcquireAsync",
			proof: "`read-`, `write-` or `semaphore-` and a sequence number; likely for a semaphore with the data ACQUIRED", alike: "programs that follow ZooKeeper's recipes", sure: Possible,
			is: child("read-0000000001", session, ""), near: []found{child("read-0000000001", session, "10.0.0.7"), child("reader-0000000001", session, "")},
		},
		{
			library: "zk (Ruby): exclusive, shared, election", recipe: "zk-ruby", read: "master of 2026", file: "lib/zk/locker/*.rb, lib/zk/election/base.rb", function: "create_lock_path!, vote!",
			proof: "`ex`, `sh` or `ballot` and a sequence number", alike: "short names in other programs", sure: Likely,
			is: child("ex0000000001", session, ""), near: []found{child("exe0000000001", session, ""), child("ex-0000000001", session, "")},
		},
		{
			library: "other queues: tutorials, rust-zookeeper, node-zookeeper-client, zkpython; ClickHouse, Kafka, Dubbo and membership registries, which are not locks", recipe: sequentialName, read: "-", file: "-", function: "-",
			proof: "ephemeral sequential nodes. Likely if each watches the one before it", alike: "members, jobs, block numbers, services", sure: Possible,
			is: child("lock-0000000001", session, ""),
		},
	}
}

// nodeSources are locks of one znode.
func nodeSources() []written {
	return []written{
		{
			library: "Helix: ZKDistributedNonblockingLock", recipe: "helix", read: "1e9b660", file: "LockInfo.java, HelixLockScope.java", function: "setLockInfoFields",
			proof: "a persistent node below CLUSTER/LOCK/…, with a ZNRecord `LOCK` that has OWNER, MESSAGE and TIMEOUT", alike: "none known", sure: Certain, ours: []string{"readHelix"},
			is: alone("/c/LOCK/RESOURCE", `{"id":"LOCK","simpleFields":{"OWNER":"a","MESSAGE":"","TIMEOUT":"1795317377191"}}`, false),
			near: []found{
				alone("/c/LOCK/RESOURCE", `{"id":"LOCK","simpleFields":{"OWNER":"a"}}`, false), alone("/c/CONFIGS/RESOURCE", `{"id":"LOCK","simpleFields":{"OWNER":"a","MESSAGE":"","TIMEOUT":"1"}}`, false),
				alone("/c/LOCK/RESOURCE", `{"id":"db","simpleFields":{"OWNER":"a","MESSAGE":"","TIMEOUT":"1"}}`, false),
			},
		},
		{
			library: "a single ephemeral node: Helix's controller, other locks of ClickHouse's ZooKeeperLock", recipe: "ephemeral", read: "-", file: "-", function: "-",
			proof: "one ephemeral node", alike: "any presence node", sure: Possible, is: alone("/service/pg", "pg-1", true),
		},
	}
}
