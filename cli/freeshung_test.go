package cli

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// hangingLocks has hanging locks of forty-eight kinds, on their own servers, next to locks in use
// of the same libraries.
type hangingLocks struct {
	t            *testing.T
	server       *servertest.ZooKeeper
	zk           *brokenServer
	single, many *redisMasters
	inZooKeeper  []string
}

func hangLocks(t *testing.T) *hangingLocks {
	t.Helper()
	h := &hangingLocks{t: t, server: servertest.StartZooKeeper(t, "maxSessionTimeout=600000"), single: startRedisMasters(t, 1), many: startRedisMasters(t, 3)}
	h.zk = &brokenServer{t: t, addr: h.server.Addr}
	h.inZooKeeper = hangInZooKeeper(h.zk)
	h.single.hang(t, redisHangs())
	waits := h.single.masters[0].Subscribe(t.Context(), "redisson_lock__channel:{lock:stuck-hash}") // the channel of its waiter
	t.Cleanup(func() { waits.Close() })
	must.Have(waits.Receive(t.Context()))(t)
	h.many.hangOnSeveral(t)
	return h
}

// left returns the targets of the locks without a client. hung returns that of the locks whose
// holder hangs.
func (h *hangingLocks) left() []string {
	return []string{
		"zk://" + h.server.Addr + "/left?admin=" + h.server.Admin,
		h.single.target("match=*stuck*&match=*used*&match=uniquejobs:*"), h.many.target("match=*stuck*&match=*used*&name=three"),
	}
}

func (h *hangingLocks) hung() string {
	return "zk://" + h.server.Addr + "/hung?admin=" + h.server.Admin
}

func (h *hangingLocks) all() []string {
	return slices.Concat(h.inZooKeeper, h.single.hangs, h.many.hangs)
}

// inUse describes everything in use.
func (h *hangingLocks) inUse() map[string]string {
	all := znodesInUse(h.t, h.zk.conns[0], "/")
	for _, house := range []*redisMasters{h.single, h.many} {
		house.keysInUse(h.t, all)
	}
	return all
}

// wantFreed checks that all hanging locks were freed, also on the servers.
func (h *hangingLocks) wantFreed(freed map[string]bool) {
	t := h.t
	t.Helper()
	missed := slices.DeleteFunc(h.all(), func(id string) bool { return freed[id] })
	if len(missed) > 0 || len(freed) < 48 {
		t.Errorf("%d locks freed, but not %v", len(freed), missed)
	}
	var remaining []string
	for _, id := range h.inZooKeeper {
		dir := strings.TrimPrefix(id, "zk:")
		if first := childrenInOrder(t, h.zk.conns[0], dir); len(first) > 0 && strings.HasSuffix(first[0], "0000000000") {
			remaining = append(remaining, dir)
		}
	}
	// only one lock of a deadlock is released
	if len(remaining) != 1 || remaining[0] != "/left/stuck-a" && remaining[0] != "/left/stuck-b" {
		t.Errorf("left: %v", remaining)
	}
	for _, house := range []*redisMasters{h.single, h.many} {
		for _, id := range house.hangs {
			_, key, _ := strings.Cut(id, ":")
			for _, m := range house.masters {
				if m.PTTL(t.Context(), key).Val() == -1 { // go-redis returns -1 ns for a key without a TTL
					t.Errorf("%s never expires", id)
				}
			}
		}
	}
}

// An operator who runs the advised commands verbatim frees hanging locks of forty-eight kinds.
// Locks in use are left alone, and so are the waiters and other holders of the hanging locks.
func TestFollowingAdviceFreesHungLocks(t *testing.T) {
	t.Parallel()
	h := hangLocks(t)
	looks := [][]string{h.left(), {h.hung(), "--stuck-after", "1ms"}}
	before := h.inUse()
	must.Become(t, "the ghost has an entry of some age", func() bool {
		_, all := doctor(t, looks[0]...)
		return slices.ContainsFunc(all, func(f reportedFinding) bool {
			return f.on == "zk:/left/stuck-ghost" && f.Rule == "ghost-owner"
		})
	})
	freed, followed := followAdvice(t, looks)
	h.wantFreed(freed)
	must.Same(t, slices.Sorted(maps.Keys(followed)), advisedOfLocks, "rules and their commands")
	must.NoDiff(t, cmp.Diff(before, h.inUse()), "in use (-before +after)")
}

// followAdvice runs the advised commands until none is left. It returns the locks concerned, and
// the advice as RULE VERB.
func followAdvice(t *testing.T, looks [][]string) (freed, followed map[string]bool) {
	t.Helper()
	freed, followed = map[string]bool{}, map[string]bool{}
	ran := map[string]bool{}
	for round := 0; ; round++ {
		commands := map[string]string{} // by lock
		for _, look := range looks {
			_, all := doctor(t, look...)
			for _, f := range all {
				command := commandOf(f.Steps)
				switch {
				case command != "" && command == commands[f.on]: // two rules advise the same
					followed[f.Rule+" "+strings.Fields(command)[1]] = true
				case command == "" || commands[f.on] != "":
				case strings.Contains(f.on, "used"):
					t.Fatalf("advice about a lock in use: %s %s: %s", f.on, f.Rule, f.Advice)
				default:
					commands[f.on] = command
					followed[f.Rule+" "+strings.Fields(command)[1]] = true
				}
			}
		}
		if len(commands) == 0 {
			return freed, followed
		}
		if round == 3 {
			t.Fatalf("more advice after three rounds: %v", commands)
		}
		again := maps.Clone(ran)
		for on, command := range commands {
			if again[command] {
				t.Errorf("%s: the same advice again: %s", on, command)
			}
			freed[on] = true
			if ran[command] { // each lock of a deadlock has the finding
				continue
			}
			ran[command] = true
			run(t, append(wordsOf(t, command), "--yes")...).wants(t, 0, "", "")
		}
	}
}

// advisedOfLocks are the rules that advise commands about locks, except those that need a history.
var advisedOfLocks = []string{
	"deadlock release", "ghost-owner release", "minority-leftover release", "no-ttl release", "no-ttl ttl", "persistent-contender release",
	"self-wait release", "split-quorum release", "stale-fair-queue release", "stuck-holder ask", "stuck-holder release",
}

// commandOf returns the first lockscope command among the steps of a finding.
func commandOf(steps []inspect.Step) string {
	for _, s := range steps {
		if strings.HasPrefix(s.Command, "lockscope ") {
			return s.Command
		}
	}
	return ""
}

// wordsOf splits a command into words as a shell does, without the program's name.
func wordsOf(t testing.TB, command string) []string {
	t.Helper()
	words, err := exec.Command("sh", "-c", "set -- "+strings.TrimPrefix(command, "lockscope ")+`; for w in "$@"; do printf '%s\0' "$w"; done`).Output()
	if err != nil {
		t.Fatalf("a shell rejects %q: %v", command, err)
	}
	return strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")
}
