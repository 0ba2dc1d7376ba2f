// Package contend lets contenders compete for one lock and measures the run. The report has the
// number of grants, the times of handoffs and waits, and the load on the servers. It also says how
// fair the grants were, whether they followed the order of arrival, and whether holds overlapped.
//
//	target := contend.NewZooKeeper(contend.ZooKeeper{
//		Servers: servers, Site: contend.Site{Name: "/locks/try", Kinds: kinds},
//	})
//	run, err := contend.Start(ctx, target, contend.Config{
//		Contenders: 8, Hold: 10 * time.Millisecond, For: 10 * time.Second,
//	})
//	…
//	report, err := run.Wait()
//
// Every contender has its own session, as if it were a process. All run in this process, so that one monotonic clock
// orders arrivals and grants.
//
// # Measurements
//
// A wait lasts from the call of Acquire to its return. A handoff lasts from the moment a holder
// begins to release to the next grant, if there was a waiter at that moment. Hold and think times
// are drawn uniformly from 0.5 to 1.5 times the configured mean. They depend only on the seed and
// the contender's number, so the same seed gives each contender the same times again.
//
// An inversion is a grant that overtakes an earlier, still waiting contender that could not have
// held the lock together with the new holder. The order of arrival is the servers' own if they have
// one: ZooKeeper's sequence numbers, or a Redis master's clock when it first handled the attempt.
// The masters of a Redlock have no common order, so the calls of Acquire in this process count.
// They are exact to about a round trip. Report.Order names the order used.
//
// An overlap is a grant while holders that it excludes still have the lock. A hold counts from the
// return of Acquire until the call of Release or the report of its loss. A grant whose fencing
// token is not greater than all previous ones is an overlap, too. There must be no overlaps, except
// on a lock that was taken from its holder by force.
//
// Requests are counted on the contenders' connections during the run: ZooKeeper requests without
// pings, and Redis commands without connection set-up, a script counting as one.
package contend
