// Package contend lets a number of contenders compete for one lock and reports how that went: how many
// grants, how long a handoff and a wait take, whether the first to come was the first to be served, how
// evenly the grants fell, what it cost the servers, and whether two ever held the lock at once.
//
//	target := contend.NewZooKeeper(contend.ZooKeeper{Servers: servers, Site: contend.Site{Name: "/locks/try", Kinds: kinds}})
//	run, err := contend.Start(ctx, target, contend.Config{Contenders: 8, Hold: 10 * time.Millisecond, For: 10 * time.Second})
//	…
//	report, err := run.Wait()
//
// Every contender has its own session, as if it were a process. All run in this process, so that one monotonic clock
// orders arrivals and grants.
//
// # Measurements
//
// A wait lasts from the call of Acquire to its return; a handoff from the moment a holder begins to release
// to the next grant, if there was a waiter at that moment. Hold and think times are drawn evenly from half to
// one and a half of what was asked for, from the seed and the contender's number alone: the same seed gives
// each contender the same times again.
//
// An inversion is a grant to a contender that came after one who still waits, and who could not have held the
// lock together with it. Who came when is the servers' own order where they have one: ZooKeeper's sequence
// numbers; for a Redis mutex the clock of the master when it first looked at the attempt; for a Redlock,
// whose masters have no common order, the calls of Acquire in this process, which is exact to about a round
// trip. Report.Order names the one of them.
//
// An overlap is a grant while others held the lock whom it excludes, seen from after the grant to before the release or
// to the notice of loss, or a grant with a fencing token that is not above those of the grants before. There must be
// none, but for a lock that was taken away from its holder by force.
//
// Requests are counted on the contenders' connections while the run lasts: ZooKeeper requests without pings; Redis
// commands, a script as one, without what sets up a connection.
package contend
