package servertest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// Apart is a member whose ephemeral nodes differ from its leader's.
type Apart struct {
	Member int
	// More has the paths that only the member has, Fewer those that only the leader has.
	More, Fewer []string
}

// Differing finds the members that lack ephemeral nodes of their leader, or have extra ones,
// although they have applied all of its transactions. whole is false if the ensemble is not
// complete, so that the members cannot be compared.
//
// ZooKeeper 3.8.0 can get into this state with ordinary clients, when connections between members
// break during an election or just after it. ZOOKEEPER-4712 and ZOOKEEPER-4785 describe two ways.
// Confirmed changes are then lost on one member, or undone there. This lasts through many
// elections, until the member happens to load a whole snapshot.
func (e *Ensemble) Differing() (list []Apart, whole bool) {
	// After an election, a follower reports an old transaction until a new one commits.
	if leader, ok := e.leads(); !ok || e.commits(leader, commitTimeout) != nil {
		return nil, false
	}
	return e.differing()
}

// differing is Differing after the first transaction since the election.
func (e *Ensemble) differing() (list []Apart, whole bool) {
	const looks = 3 // a change that is under way reaches all members within two
	more, fewer := map[int]map[string]int{}, map[int]map[string]int{}
	for i := range e.Members {
		more[i], fewer[i] = map[string]int{}, map[string]int{}
	}
	for range looks {
		leader, ok := e.leads()
		if !ok || !e.follow(e.zxid(leader), followTimeout) {
			return nil, false
		}
		trees := make([]map[string]bool, len(e.Members))
		for i, zk := range e.Members {
			if trees[i] = ephemerals(query(zk.Addr, "dump")); trees[i] == nil {
				return nil, false
			}
		}
		for i := range e.Members {
			count(more[i], trees[i], trees[leader])
			count(fewer[i], trees[leader], trees[i])
		}
	}
	for i := range e.Members {
		one := Apart{Member: i, More: always(more[i], looks), Fewer: always(fewer[i], looks)}
		if len(one.More)+len(one.Fewer) > 0 {
			list = append(list, one)
		}
	}
	return list, true
}

// count adds one to each path that is in a tree and not in another.
func count(n map[string]int, in, notIn map[string]bool) {
	for path := range in {
		if !notIn[path] {
			n[path]++
		}
	}
}

func always(n map[string]int, looks int) []string {
	maps.DeleteFunc(n, func(_ string, times int) bool { return times < looks })
	return slices.Sorted(maps.Keys(n))
}

// zxid returns the newest transaction of a member.
func (e *Ensemble) zxid(member int) uint64 {
	n, _ := strconv.ParseUint(strings.TrimPrefix(after(query(e.Members[member].Addr, "srvr"), "Zxid: "), "0x"), 16, 64)
	return n
}

// followTimeout is how long a member that follows may lag behind.
const followTimeout = 10 * time.Second

// follow waits until all members have applied a transaction; false if that takes too long.
func (e *Ensemble) follow(zxid uint64, limit time.Duration) bool {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(pollEvery) {
		behind := false
		for i := range e.Members {
			behind = behind || e.zxid(i) < zxid
		}
		if !behind {
			return zxid > 0
		}
	}
	return false
}

// ephemerals returns the paths in the answer to the four-letter word dump, or nil for another
// answer.
func ephemerals(dump string) map[string]bool {
	_, list, ok := strings.Cut(dump, "Sessions with Ephemerals (")
	if !ok {
		return nil
	}
	paths := map[string]bool{}
	for line := range strings.Lines(list) {
		if strings.HasPrefix(line, "\t/") { // the sessions' connections follow, in another form
			paths[strings.TrimSpace(line)] = true
		}
	}
	return paths
}

// Rebuild ends a member, discards its data and starts it again, so that it copies everything from
// its leader. It waits until the ensemble is complete.
func (e *Ensemble) Rebuild(t testing.TB, member int) {
	t.Helper()
	zk := e.Members[member]
	zk.Kill(t)
	check(t, os.RemoveAll(filepath.Join(zk.dir, "data", "version-2")))
	zk.Restart(t)
	e.Leader(t)
}

// Diverge gives a follower data that the others do not have. ours is a session with them. While the
// follower is away, the others commit what ours creates and deletes. Meanwhile the follower runs
// alone, and numbers the changes of write as the others have numbered their own. It waits until the
// ensemble is complete. See [Ensemble.Differing] for how members diverge on their own.
func (e *Ensemble) Diverge(t testing.TB, member int, ours *zk.Conn, write func(*zk.Conn)) {
	t.Helper()
	z := e.Members[member]
	z.Kill(t)
	const transactions = 20 // more than a session and what it writes
	for range transactions {
		path, err := ours.Create("/diverge", nil, 0, zk.WorldACL(zk.PermAll))
		check(t, err)
		check(t, ours.Delete(path, -1))
	}
	file := filepath.Join(z.dir, "zoo.cfg")
	config, err := os.ReadFile(file)
	check(t, err)
	var alone strings.Builder
	for line := range strings.Lines(string(config)) {
		if !strings.HasPrefix(line, "server.") {
			alone.WriteString(line)
		}
	}
	check(t, os.WriteFile(file, []byte(alone.String()), 0o600))
	z.Restart(t)
	c, events, err := zk.Connect([]string{z.Addr}, commitTimeout, zk.WithLogger(quiet{}))
	check(t, err)
	write(c)
	c.Close()
	for range events { // closed when its goroutines have ended
	}
	z.Kill(t)
	check(t, os.WriteFile(file, config, 0o600))
	z.Restart(t)
	e.Leader(t)
}
