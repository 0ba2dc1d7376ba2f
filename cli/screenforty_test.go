package cli

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"lockscope/lockops"
)

// liveClients are clients that hold locks and wait, each in a goroutine of its own, beside what hangs and behind it.
type liveClients struct {
	t       *testing.T
	ctx     context.Context
	waiting sync.WaitGroup
	inUse   []*lockops.Hold
	// freed gets the hold of each that waits behind what hangs, when it is granted.
	freed chan *lockops.Hold
	// behind are the locks in which they wait so.
	behind []string
}

// live has a client wait behind an entry that was left behind, for each library whose locks ours can take, and two share a lock beside.
func live(t *testing.T, h *fortyHangs) *liveClients {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	l := &liveClients{t: t, ctx: ctx, freed: make(chan *lockops.Hold, 3)}
	session, err := lockops.NewZKSession(ctx, []string{h.server.Addr})
	if err != nil {
		t.Fatal(err)
	}
	other, err := lockops.NewZKSession(ctx, []string{h.server.Addr})
	if err != nil {
		t.Fatal(err)
	}
	onRedis, err := lockops.NewRedisSession(ctx, []*redis.UniversalOptions{{Addrs: h.single.addrs}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		l.waiting.Wait()
		onRedis.Close()
		session.Close()
		other.Close()
	})
	for name, first := range map[string]string{"kazoo": hangHex + "__lock__", "curator": "_c_" + hangUUID + "-lock-", "go-zookeeper": "_c_" + hangHex + "-lock-"} {
		dir := h.zk.create(h.zk.conns[0], "/left/stuck-behind-"+name, "", 0)
		h.zk.create(h.zk.conns[0], dir+"/"+first, "client", zk.FlagSequence)
		l.behind = append(l.behind, "zk:"+dir)
		l.wait(lockops.NewZKMutex(session, dir, lockops.WithRecipe(name)), l.freed)
		used := "/left/used-live-" + name
		l.share(lockops.NewZKMutex(session, used, lockops.WithRecipe(name)), lockops.NewZKMutex(other, used, lockops.WithRecipe(name)))
	}
	onOne := lockops.NewRedisMutex(onRedis, "lock:used-live")
	l.share(onOne, onOne)
	return l
}

// wait queues for a lock; the hold goes to granted.
func (l *liveClients) wait(m lockops.Locker, granted chan<- *lockops.Hold) {
	l.waiting.Go(func() {
		hold, err := m.Acquire(l.ctx)
		switch {
		case err == nil && granted != nil:
			granted <- hold
		case l.ctx.Err() == nil:
			l.t.Errorf("who waits for a lock in use got %v, %v", hold, err)
		}
	})
}

// share takes a lock, and has another wait for it.
func (l *liveClients) share(m, waiter lockops.Locker) {
	l.t.Helper()
	hold, err := m.Acquire(l.ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	l.inUse = append(l.inUse, hold)
	l.wait(waiter, nil)
}

// wantAll demands that each that waited behind what hung has been granted the lock, and that nobody else lost his.
func (l *liveClients) wantAll() {
	l.t.Helper()
	for range l.behind {
		select {
		case hold := <-l.freed:
			l.inUse = append(l.inUse, hold)
		case <-time.After(2 * time.Minute):
			l.t.Fatal("who waits behind what was freed is not granted it")
		}
	}
	for _, hold := range l.inUse {
		if err := context.Cause(hold.Context()); err != nil {
			l.t.Errorf("%s was taken from its holder: %v", hold.Name(), err)
		}
	}
}

// onlyAPerson makes locks with which something is wrong that no action on them mends, by RULE LOCK with what is said to do.
func onlyAPerson(h *fortyHangs) map[string]string {
	const root = "/left/used-persons"
	h.zk.create(h.zk.conns[0], root, "", 0)
	said := map[string]string{
		"foreign-value three:lock:used-foreign": "rename one of the two",
		"split-quorum three:lock:stuck-split":   "wait for the keys to expire at", // once the vote without an end is released
		"ghost-owner zk:/left/stuck-ghost":      "wait until then: what the session has is free when it ends",
	}
	for _, tr := range h.zk.wrongInQueues(root) {
		said[tr.rule+" "+tr.on] = tr.advice
	}
	for i, command := range []string{"SET lock:used-foreign YWFhYWFhYWFhYWFhYWFhYQ== PX 3600000", "SET lock:used-foreign YWFhYWFhYWFhYWFhYWFhYQ== PX 3600000", "LPUSH lock:used-foreign job"} {
		h.many.do(h.t, i, command)
	}
	return said
}

// An operator who does what the screen says, and nothing else, frees locks of fifty kinds that hang: the footer names the key, the
// dialog the word to type; where there is no key he runs the command that is shown. Where a person has to do something else, or time
// has to pass, the screen says so and names no key. Nothing of what is in use is touched, and who waits behind gets the lock.
func TestWhoFollowsTheScreenFreesFortyLocks(t *testing.T) {
	h := hangForty(t)
	clients, persons := live(t, h), onlyAPerson(h)
	before := h.inUse()
	o := sitDown(t, 10*time.Minute, 140, 200, h.left()...)
	o.bulk = map[string]string{"persistent-contender": "x"}
	all := append(h.all(), clients.behind...)
	o.work(func() (missing []string) {
		for about, advice := range persons {
			if !strings.Contains(o.ever[about].advice, advice) {
				missing = append(missing, about)
			}
		}
		freed := o.freed(all)
		for _, id := range all {
			if !freed[id] && !strings.HasPrefix(id, "zk:/hung/") && id != "zk:/left/stuck-ghost" {
				missing = append(missing, id)
			}
		}
		return missing
	})
	h.zk.endGhost()
	o.awaitGone("ghost-owner zk:/left/stuck-ghost")
	for about := range persons {
		if r, there := o.unkeyed[about]; there == strings.HasPrefix(about, "ghost-owner") || r.command != "" {
			t.Errorf("%s: found %v, %q", about, there, r.command)
		}
	}
	hung := sitDown(t, time.Millisecond, 140, 120, h.hung())
	hung.work(func() (missing []string) {
		freed := hung.freed(all)
		for _, id := range all {
			if strings.HasPrefix(id, "zk:/hung/") && !freed[id] {
				missing = append(missing, id)
			}
		}
		return missing
	})
	freed := o.freed(all)
	for id := range hung.freed(all) {
		freed[id] = true
	}
	freed["zk:/left/stuck-ghost"] = true
	h.wantFreed(freed)
	clients.wantAll()
	if diff := cmp.Diff(before, h.inUse()); diff != "" {
		t.Errorf("what was in use (-before +after):\n%s", diff)
	}
	for _, d := range o.did {
		if d.key == "copied" && !strings.HasPrefix(d.lock, "three:") {
			t.Errorf("the screen has no key for what it advises: %+v", d)
		}
	}
}

// freed are those of some locks that the operator has acted on.
func (o *operatorAtScreen) freed(all []string) map[string]bool {
	freed := map[string]bool{}
	for _, id := range all {
		for _, d := range o.did {
			if strings.Contains(" "+d.lock+" ", " "+id+" ") || d.key != "copied" && strings.Contains(d.result, id+"\n") {
				freed[id] = true
			}
		}
	}
	return freed
}
