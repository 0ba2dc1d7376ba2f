// Package lockops acquires, holds and releases distributed locks in ZooKeeper and Redis.
//
// A session owns what locks need from a connection (NewZKSession, NewRedisSession). Lockers use it and are
// cheap values: NewZKMutex is a fair queue that can share its directory with Curator, kazoo or go-zookeeper;
// NewZKRWMutex is one of readers and writers, NewZKSemaphore one of several permits; NewRedisMutex is a plain
// key that can be shared with every SET NX PX client, NewRedisFairMutex one that is first come, first served;
// NewRedlock spreads a lock over several masters. [Kinds] lists them all. A successful Acquire gives a Hold.
// Pass its Context to all that you do under the lock: it ends when the lock is lost.
//
// # Not guaranteed
//
// No lease excludes a holder that is paused after it looked: a process that is stopped, swapped out or
// collecting garbage continues where it was, perhaps long after another client got the lock. Where that must
// not happen, let the resource itself refuse old holders by Hold.Token, the fencing token. Redlock has none.
//
// ZooKeeper: a hold lasts three quarters of the session timeout from when the newest request was sent that a
// quorum of the servers has committed. Answers that one server gives alone do not count: a follower that is
// cut off from its leader continues to answer pings and reads, and a leader that is cut off from its followers
// answers sync, while the others let the session expire. So while a hold is in hand, its session sends every
// eighth of its timeout a transaction that checks that its nodes are there and changes nothing: with the
// default timeout of 10 s, one in 1.25 s for all holds of a session together, and none for holds that are
// shorter. Clock rates may differ by up to one percent. While a machine is suspended nothing can be noticed;
// on Linux a hold whose time ran out meanwhile is lost at the next heartbeat after it, elsewhere when as much
// time has passed again. ZooKeeper 3.5 or newer is needed.
//
// Redis: TTLs follow the server's wall clock; a step of that clock frees a lock early or late. Replication is
// asynchronous: a failover can lose the lock, and so can a restart without appendfsync always. A key can be
// evicted unless maxmemory-policy is noeviction. Fencing tokens survive all of that as long as no server's
// clock goes back by more than the lock was free for: a token is the time by the server's clock, or one more
// than the newest. The fair mutex is first come, first served; the plain one nearly, except for clients of other
// libraries. Redis 5 or newer is needed.
//
// Redlock: a master that restarts empty within the TTL can give the lock to a second holder. Where the user may run
// INFO, such masters are recognised and do not vote before the TTL is over; where not, keep them out yourself.
//
// # Names on the servers
//
// ZooKeeper nodes are named as the chosen recipe does and carry the label as data; where the recipe has no
// place for a GUID in the name, the data is as a Redis value, see below. New nodes, and directories that are
// missing, take the access list of the directory above them. If that cannot be read, or shows no digests,
// only the users that the session is authenticated as have access (WithACL sets another list). A
// contender's node has to be readable for the contenders behind it.
//
// A Redis value is recipe.LockscopeToken: "lockscope:", sixteen random bytes in base64 (the first nine are
// the session's), ":" and the label. Next to the key, as recipe.LockscopeKey names them, are the newest
// fencing token, for a day, and the waiters. An ACL must allow the lock's own key, ~lockscope:* and
// &lockscope:wake:*, and the commands evalsha, eval, get, set, del, exists, pexpire, pttl, time, zadd,
// zrange, zrevrange, zrem, zpopmin, hset, hget, hdel, publish, subscribe, unsubscribe; ping; for a Redlock,
// info. The names of connections (client|setname) and, on a plain mutex, messages and the places of waiters
// are done without where they are denied.
package lockops

// Mutexes are taken in this order; those that are not named are never held while another is taken:
//
//	vote.requestMu, subscriber.requestMu: while a request is under way
//	lease.mu, election.mu
//	leases.mu, subscriber.mu
//	master.mu, recently.mu, sleepClock.mu
