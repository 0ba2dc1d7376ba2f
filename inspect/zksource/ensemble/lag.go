package ensemble

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockscope/lockscope/inspect/zkadmin"
)

// lagGrace is how long a server may take to catch up with the leader before it counts as lagging.
// Znode counts are comparable only if nothing was written for that long.
const lagGrace = time.Second

// compareMembers asks a server again if it was behind the leader or had a different number of
// znodes. Two servers are never read at the same time.
func (q *Inquiry) compareMembers(ctx context.Context, servers []answer) {
	leader := leaderOf(servers)
	if leader < 0 {
		return
	}
	first := servers[leader].status
	again := map[int]*answer{}
	for i := range servers {
		a := &servers[i]
		if i != leader && a.serves() && (behind(a.status.Zxid, first.Zxid) || nodesApart(a.status, first) != 0) {
			again[i] = new(answer)
		}
	}
	if len(again) == 0 {
		return
	}
	again[leader] = new(answer)
	var asking sync.WaitGroup
	for i, a := range again {
		asking.Go(func() {
			for _, answered := range []time.Time{servers[i].at, servers[leader].at} {
				q.waitUntil(ctx, answered.Add(lagGrace))
			}
			ctx, cancel := context.WithTimeout(ctx, q.Limit)
			defer cancel()
			*a = q.readStatus(ctx, q.admins[i])
		})
	}
	asking.Wait()
	for i, a := range again {
		if i != leader && a.failed == nil && a.status.Zxid != 0 {
			servers[i].askedAgain(a, first, again[leader].status)
		}
	}
}

// askedAgain compares a member's second answer with both answers of its leader.
func (a *answer) askedAgain(second *answer, leader, leaderSecond zkadmin.Status) {
	was, is := a.status, second.status
	if is.Role != was.Role || second.epoch() != a.epoch() {
		*a = *second // an election in between makes the first answer useless
		return
	}
	apart := nodesApart(is, leaderSecond)
	if was.Zxid == is.Zxid && leader.Zxid == leaderSecond.Zxid && apart == nodesApart(was, leader) {
		a.nodesApart = apart
	}
	a.status.Zxid, a.asOf = is.Zxid, second.asOf
}

// nodesApart is how many more znodes a server has than the leader; 0 if their transactions
// differ, or are not reported.
func nodesApart(one, leader zkadmin.Status) int {
	if one.Zxid == 0 || one.Zxid != leader.Zxid || one.Nodes == 0 || leader.Nodes == 0 {
		return 0
	}
	return one.Nodes - leader.Nodes
}

// leaderOf returns the index of the leader that others follow; -1 if none answered.
func leaderOf(servers []answer) int {
	if i := leader(servers); i >= 0 && servers[i].leads() {
		return i
	}
	return -1
}

// leaderZxid returns the leader's newest transaction; zero if no leader answered.
func leaderZxid(servers []answer) uint64 {
	if i := leaderOf(servers); i >= 0 {
		return servers[i].status.Zxid
	}
	return 0
}

// behind reports whether a transaction is before the leader's. An election's first transaction,
// with count 0, never shows on a follower.
func behind(zxid, leader uint64) bool { return leader<<32 != 0 && zxid < leader }

// commit is a transaction that the leader had at a time.
type commit struct {
	zxid uint64
	at   time.Time
}

// mostCommits limits the remembered leader transactions, one per inquiry.
const mostCommits = 64

// measureLag records the leader's newest transaction, and how long each server has been behind.
// Transactions of an earlier leader do not count, since they may have been withdrawn.
func (e *Ensemble) measureLag(servers []answer) {
	leader := leaderOf(servers)
	if leader < 0 {
		return
	}
	now := commit{servers[leader].status.Zxid, servers[leader].at}
	if n := len(e.commits); n > 0 && (e.commits[n-1].zxid>>32 != now.zxid>>32 || e.commits[n-1].zxid > now.zxid) {
		e.commits = nil
	}
	if n := len(e.commits); now.zxid<<32 != 0 && (n == 0 || e.commits[n-1].zxid < now.zxid) {
		e.commits = append(e.commits[max(0, n-mostCommits+1):], now)
	}
	for i := range servers {
		a := &servers[i]
		if i == leader || !a.serves() || a.status.Zxid == 0 {
			continue
		}
		if first := slices.IndexFunc(e.commits, func(c commit) bool { return a.status.Zxid < c.zxid }); first >= 0 {
			a.lag = max(0, a.asOf.Sub(e.commits[first].at))
		}
	}
}
