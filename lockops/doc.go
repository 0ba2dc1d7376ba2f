// Package lockops acquires, holds and releases distributed locks in ZooKeeper and Redis.
//
// A session owns what locks need from a connection (NewZKSession, NewRedisSession). Lockers use it and
// are cheap values. [Kinds] lists them all:
//
//   - NewZKMutex is a fair queue that can share its directory with Curator, kazoo or go-zookeeper.
//   - NewZKRWMutex is a fair queue of readers and writers.
//   - NewZKSemaphore is a fair queue for several permits.
//   - NewRedisMutex is a plain key that can be shared with every SET NX PX client.
//   - NewRedisFairMutex is a key that is granted first come, first served.
//   - NewRedlock spreads a lock over several masters.
//
// A successful Acquire gives a Hold. Pass its Context to all that you do under the lock: it ends when the
// lock is lost.
//
// # Not guaranteed
//
// A lease cannot stop a holder that is paused after its last check. A process that is stopped,
// swapped out or collecting garbage continues where it was, perhaps long after another client got
// the lock. Where that must not happen, let the resource itself refuse old holders by Hold.Token,
// the fencing token. Redlock has none.
//
// ZooKeeper: A hold lasts three quarters of the session timeout, counted from the sending of the
// newest request that a quorum of the servers has committed. An answer of a single server does not
// count. A follower that is cut off from its leader continues to answer pings and reads. A leader
// that is cut off from its followers answers sync, while the others let the session expire. During
// a hold, the session therefore sends a transaction every eighth of its timeout. It checks that the
// nodes of the holds exist, and changes nothing. With the default timeout of 10 s, that is one
// request every 1.25 s for all holds of a session together. Shorter holds send none. Clock rates
// may differ by up to one percent. Nothing can be noticed while the machine is suspended. On Linux,
// a hold that ran out during a suspension is lost at the next heartbeat. On other systems, it is
// lost only when its remaining time has passed after the machine wakes. ZooKeeper 3.5 or newer is
// needed.
//
// Redis: TTLs follow the server's wall clock, so a step of that clock frees a lock early or late.
// Replication is asynchronous, so a failover can lose the lock. So can a restart without
// appendfsync always. A key can be evicted unless maxmemory-policy is noeviction. A fencing token
// is the time by the server's clock, or one more than the newest token. Tokens survive all of that
// unless a server's clock goes back by more than the time for which the lock was free. The fair
// mutex is first come, first served. The plain mutex nearly keeps that order, except for clients of
// other libraries. Redis 5 or newer is needed.
//
// Redlock: A master that restarts empty within the TTL can give the lock to a second holder. If the
// user may run INFO, such masters are recognised and do not vote until the TTL is over. Otherwise,
// keep them out yourself.
//
// # Names on the servers
//
// ZooKeeper nodes are named as the chosen recipe prescribes, and have the label as data. If the
// recipe has no place for a GUID in the name, the data is like a Redis value, see below. New nodes
// and missing directories inherit the access list of the directory above them. If that list cannot
// be read, or shows no digests, only the session's authenticated users have access (WithACL sets
// another list). A contender's node has to be readable for the contenders behind it.
//
// A Redis value is recipe.LockscopeToken: "lockscope:", sixteen random bytes in base64 (the first
// nine are the session's), ":" and the label. Further keys, named by recipe.LockscopeKey, have the
// waiters and, for a day, the newest fencing token. An ACL must allow the lock's own key,
// ~lockscope:* and &lockscope:wake:*, and the commands evalsha, eval, get, set, del, exists,
// pexpire, pttl, time, zadd, zrange, zrevrange, zrem, zpopmin, hset, hget, hdel, publish,
// subscribe, unsubscribe; ping; for a Redlock, info. If the user may not name connections
// (client|setname), they have no name. A plain mutex also works without the rights for its messages
// and its set of waiters.
package lockops

// Mutexes are locked in this order. Any other mutex is never held while another is locked:
//
//	vote.requestMu, subscriber.requestMu: while a request is under way
//	lease.mu, election.mu
//	leases.mu, subscriber.mu
//	master.mu, recently.mu, sleepClock.mu
