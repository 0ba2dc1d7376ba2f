package inspect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestContendersAreFoundByTheirNames(t *testing.T) {
	l := &Lock{
		Holders: []Contender{{Name: "a"}},
		Waiters: []Contender{{Name: "b", Special: Special{Digest: "d1"}}, {Name: "b", Special: Special{Digest: "d2"}}},
	}
	c, ok := l.Contender("a")
	must.True(t, ok && c.Argument() == "a")
	_, ok = l.Contender("c")
	must.True(t, !ok)
	first, second := &l.Waiters[0], &l.Waiters[1]
	must.Equal(t, second.Argument(), "d2")
	must.Equal(t, (&Vote{Value: "b", Digest: "d2"}).Argument(), "d2")
	must.Equal(t, (&Vote{Value: "b"}).Argument(), "b")
	s := second.Subject()
	must.True(t, s.Is(second), "not its own subject")
	must.True(t, !s.Is(first), "another contender's subject")
	must.True(t, !(&Subject{}).Is(&Contender{}), "the empty subject is a contender")
}

func TestStepsAreTheAdvice(t *testing.T) {
	f := Finding{Steps: []Step{
		{Verb: VerbWait, Why: "wait"},
		{Verb: VerbRelease, Why: "release it", Command: "lockscope release"},
		{Verb: VerbRelease},
		{Verb: VerbWait, Why: "aim"},
		{Verb: VerbWait, Why: "zoom"},
		{Verb: VerbWait, Why: "Ask"},
		{Verb: VerbWait, Why: "`x`"},
	}}
	step, ok := f.Step(VerbRelease)
	must.True(t, ok && step.Why == "release it", step)
	_, ok = f.Step(VerbTTL)
	must.True(t, !ok)
	must.Equal(t, f.Advice(), "wait. Release it: lockscope release. Aim. Zoom. Ask. `x`")
	f.Steps = f.Steps[1:2]
	must.Equal(t, f.Advice(), "release it: lockscope release")
	must.Same(t, f.Phrases(), []Phrase{{Text: "release it:"}, {Text: "lockscope release", Command: true}})
}

// These words are part of the JSON, which other programs read.
func TestWordsOfTheJSON(t *testing.T) {
	for _, tt := range []struct {
		words []any
		want  string
	}{
		{[]any{ZooKeeper, Redis}, "zookeeper redis"},
		{[]any{Connected, Degraded, Down}, "connected degraded down"},
		{[]any{ModeWatch, ModePush, ModePoll, ModeOnce}, "watch push poll once"},
		{[]any{Independent, Sentinel, Cluster}, "independent sentinel cluster"},
		{[]any{ServerUp, ServerDown, ServerUnknown, FaultOurs, FaultNoQuorum}, "up down unknown ours no-quorum"},
		{[]any{RefusedForSave, RefusedForAOF, RefusedForReplicas, RefusedForMemory}, "save aof replicas memory"},
		{[]any{EventAppeared, EventGone, EventWaiting}, "appeared gone waiting"},
		{[]any{EventAcquired, EventHandover, EventChanged}, "acquired handover changed"},
		{[]any{EventReleased, EventExpired, EventForced, EventEnded}, "released expired forced ended"},
		{[]any{EventFinding, EventCleared, EventBackend, EventBlind}, "finding cleared backend blind"},
		{[]any{ChangedMaster, ChangedLeader, Restarted, CertaintyUnknown}, "master leader restarted unknown"},
		{[]any{VerbRelease, VerbTTL, VerbAsk, VerbKillClient, VerbSweep}, "release ttl ask kill-client sweep"},
		{[]any{VerbWait, VerbRestart, VerbConfigure}, "wait restart configure"},
		{[]any{Info, Warning, Critical}, "info warning critical"},
		{[]any{KindMutex, KindRW, KindSemaphore}, "mutex rw semaphore"},
		{[]any{KindElection, KindRedlock, KindUnknown}, "election redlock unknown"},
		{[]any{StateFree, StateHeld, StateContended}, "free held contended"},
		{[]any{StateSplit, StateMinority, StateUnknown}, "split minority unknown"},
		{[]any{AspectLocks, AspectKind, AspectHolders, AspectWaiters}, "locks kind holders waiters"},
		{[]any{AspectExpiry, AspectVotes, AspectWatches}, "expiry votes watches"},
		{[]any{AspectSessions, AspectOwner, AspectServer, AspectChanges}, "sessions owner server changes"},
	} {
		must.Equal(t, strings.TrimSpace(fmt.Sprintln(tt.words...)), tt.want)
	}
	states := map[string]ContenderState{"": 0, "holding": Holding, "waiting": Waiting, "pending": Pending}
	for word, state := range states {
		var read ContenderState
		must.Succeed(t, read.UnmarshalText([]byte(word)))
		must.Equal(t, read, state, word)
		must.Equal(t, state.String(), word)
	}
	must.Equal(t, ContenderState(9).String(), "ContenderState(9)")
	err := new(ContenderState).UnmarshalText([]byte("dreaming\x1b"))
	must.Equal(t, fmt.Sprint(err), `dreaming\u{1b} is not a state of a contender`)
}

func TestIDsAsText(t *testing.T) {
	for _, id := range []ID{{}, {"zk", "/a"}, {"r", "a:b\x1b"}, {"r", ""}} {
		written := must.Have(json.Marshal(id))(t)
		must.True(t, !strings.Contains(string(written), "\x1b"))
		var read ID
		must.Succeed(t, json.Unmarshal(written, &read))
		must.Equal(t, read, id, string(written))
	}
	must.True(t, new(ID).UnmarshalText([]byte("zk")) != nil, "no colon")
	var u Untrusted
	must.Succeed(t, u.UnmarshalText(must.Have(Untrusted("a\x1b\\").MarshalText())(t)))
	must.Equal(t, u, "a\x1b\\")
}

func TestSessionsAsTheServersReportThem(t *testing.T) {
	s := &Snapshot{
		sessions: map[string]map[int64]Session{"zk": {0: {}, 7: {ID: 7}}},
		watched:  map[string]time.Time{"zk": now},
	}
	l := &Lock{ID: ID{"zk", "/a"}}
	session, ok := s.Session(l, &Contender{Owner: Owner{Session: 7}})
	must.True(t, ok && session.ID == 7, "session", session)
	must.Equal(t, len(s.Sessions("zk")), 2, "sessions")
	must.Equal(t, s.Watched("zk"), now, "watches read at")
	for _, id := range []int64{0, 8} {
		_, ok := s.Session(l, &Contender{Owner: Owner{Session: id}})
		must.True(t, !ok, "session", id)
	}
}

func TestAgesOfContenders(t *testing.T) {
	b := &Backend{Clock: LeaderClock{Offset: 0, From: 100, Oldest: now.Add(-time.Hour), Newest: now}}
	ago := now.Add(-time.Minute)
	for name, tt := range map[string]struct {
		c    Contender
		want Age
	}{
		"dated by another leader": {Contender{Czxid: 99, Since: ago, HeldSince: ago}, Age{Duration: time.Minute, Least: time.Hour}},
		"a grant that we saw":     {Contender{Czxid: 99, HeldSince: ago}, Age{time.Minute, true, time.Minute}},
	} {
		got, ok := b.Age(&tt.c, ago, now)
		must.True(t, ok && got == tt.want, name, got)
	}
	_, ok := b.Age(&Contender{}, time.Time{}, now)
	must.True(t, !ok)
}

func TestAgreedWhenTheQuorumWasRead(t *testing.T) {
	read := func(seconds int, agrees bool) Vote {
		return Vote{Agrees: agrees, ReadAt: now.Add(time.Duration(seconds) * time.Second)}
	}
	l := &Lock{Quorum: 2, ReadAt: now, Masters: []Vote{read(1, true), read(3, true), read(2, true), read(9, false)}}
	must.True(t, l.agreedAt().Equal(now.Add(2*time.Second)), l.agreedAt())
	l.Masters = l.Masters[:1]
	must.True(t, l.agreedAt().Equal(now), l.agreedAt())
}

func TestLongestTTLOfEachVersion(t *testing.T) {
	l := &Lock{ReadAt: now, Masters: []Vote{{ExpiresAt: now.Add(2 * time.Second)}, {}}, Holders: []Contender{{ExpiresAt: now.Add(time.Second)}}}
	must.Equal(t, l.LongestTTL(), 2*time.Second)
	l.Observed.LongestTTL = time.Minute
	must.Equal(t, l.LongestTTL(), time.Minute)
}
