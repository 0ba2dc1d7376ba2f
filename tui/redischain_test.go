package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

// fairQueue is a Redisson fair lock whose first waiter is dead, with a finding about it.
func fairQueue() *inspect.Lock {
	l := inspect.KeyLock(fixture.Id("redis:fair"), []inspect.Vote{fixture.Vote(0, uuid(0)+":12", 20*time.Second)}, fixture.Noon)
	l.Recipe, l.State, l.Confidence = "redisson", inspect.StateContended, recipe.Certain
	for i := range 3 {
		c := inspect.Contender{Name: inspect.Untrusted(fmt.Sprintf("%s:%d", uuid(i+1), 33)), State: inspect.Waiting, Dead: i == 0}
		c.ExpiresAt, c.Owner = fixture.In(time.Duration(i+1)*time.Minute), inspect.Owner{Process: inspect.Process{LibraryID: inspect.Untrusted(uuid(i + 1)), Thread: "33"}}
		l.Waiters = append(l.Waiters, c)
	}
	release := fixture.Act(inspect.VerbRelease, "if its client is gone", l.ID, l.Waiters[0].Name)
	release.Waiter, release.Command = true, release.Command+" --waiter"
	l.Findings = []inspect.Finding{{
		Rule: "stale-fair-queue", Severity: inspect.Warning, Message: "1 of 3 waiters is most likely gone",
		Steps: []inspect.Step{
			fixture.Say("wait: Redisson drops each within 5 min"),
			release,
			fixture.Say("or restart Redisson, and tell its users"),
		},
	}}
	return l
}

func uuid(i int) string { return fmt.Sprintf("%08x-9d1b-4c38-b7f4-2a1c6f9e0a11", i) }

func TestRedisQueueIsReadable(t *testing.T) {
	for _, size := range sizes {
		l := fairQueue()
		m := showing(t, Options{}, size.width, size.height, l)
		goldenScreen(t, fmt.Sprintf("chain-fair-%dx%d", size.width, size.height), m)
		wantText(t, m, "└─○ waits", "gone?  1m00s left", string(l.Waiters[1].Name))
		shows(t, m, "j j", "nothing keeps its entry alive", "thread 33 · instance "+uuid(1))
	}
}

func TestRedisReadersAndPermitsAreListed(t *testing.T) {
	l := inspect.KeyLock(fixture.Id("redis:rw"), []inspect.Vote{fixture.Vote(0, "x", 20*time.Second)}, fixture.Noon)
	l.Kind, l.Recipe = inspect.KindRW, "redisson"
	l.Holders = nil
	for i := range 2 {
		l.Holders = append(l.Holders, inspect.Contender{
			Name: inspect.Untrusted(uuid(i) + ":1"), State: inspect.Holding, Mode: recipe.Shared, ExpiresAt: fixture.In(time.Minute),
		})
	}
	m := showing(t, Options{}, 80, 24, l)
	wantText(t, m, "2 readers hold it", uuid(0)+":1", uuid(1)+":1", "read, 1m00s left")
	l.Kind, l.Limit = inspect.KindSemaphore, 3
	l.Holders = l.Holders[:1]
	wantText(t, showing(t, Options{}, 80, 24, l), "1 of 3 permits used", uuid(0)+":1")
}

// The advice is shown in full, and its commands can be pasted into a shell.
func TestAdviceIsNotCut(t *testing.T) {
	l := fairQueue()
	m := showing(t, Options{}, 80, 24, l)
	said := strings.Join(strings.Fields(strings.ReplaceAll(content(m), "\\\n", " ")), " ")
	for _, part := range l.Findings[0].Phrases() {
		must.Contain(t, said, part.Text)
	}
}

func TestLongQueueCountIsWhole(t *testing.T) {
	l := fixture.Orders()
	for i := range 300 {
		l.Waiters = append(l.Waiters, inspect.Contender{Name: inspect.Untrusted(fmt.Sprint("w", i)), State: inspect.Waiting})
	}
	unseen := inspect.KeyLock(fixture.Id("redis:unseen"), []inspect.Vote{fixture.Vote(0, "x", 20*time.Second)}, fixture.Noon)
	unseen.State, unseen.WaitersAtLeast = inspect.StateContended, 2
	m := model(t, Options{}, 120, 36, snapshotOf(l, unseen))
	wantText(t, m, " 303 ", " ≥2 ")
	send(m, tea.WindowSizeMsg{Width: 110, Height: 36}) // wide enough for bars, too narrow for trends
	wantText(t, m, "▇▇▇▇ 303", "▇▇ ≥2")
}

// The hold time of a key that existed before watching began is a lower bound.
func TestEarlierHoldIsLowerBound(t *testing.T) {
	l := inspect.KeyLock(fixture.Id("redis:old"), []inspect.Vote{fixture.Vote(0, "mine", 20*time.Second)}, fixture.Noon)
	l.Holders[0].Seen = fixture.Noon.Add(-90 * time.Second)
	m := model(t, Options{}, 120, 36, snapshotOf(l))
	wantText(t, m, "≥1m30s")
	wantText(t, showing(t, Options{}, 120, 36, l), "for at least 1m30s (already held at 11:58:30)")
}

// A recent start of a master is shown only if the rule found that it lost the key, or may have.
func TestRestartMarkNeedsLostKey(t *testing.T) {
	t.Parallel()
	const lost, maybe, mark = "absent, restarted within the TTL", "absent, up for less than the TTL", "▲3.0s"
	found := func(master int, c recipe.Confidence) inspect.Finding {
		f := inspect.Finding{Rule: "master-restarted", Severity: inspect.Warning, Confidence: c}
		f.Subject.Server = inspect.Untrusted(fixture.Vote(master, "", 0).Addr)
		return f
	}
	for name, tt := range map[string]struct {
		votes   string
		found   []inspect.Finding
		is, not []string
	}{
		"written after the start": {"aaa-", nil, []string{"absent  "}, []string{lost, maybe, mark}},
		"lost":                    {"aaa-", []inspect.Finding{found(4, recipe.Likely)}, []string{lost, mark}, []string{maybe}},
		"may be lost":             {"aaa-", []inspect.Finding{found(4, recipe.Possible)}, []string{maybe, mark}, []string{lost}},
		"another one lost it":     {"aa--", []inspect.Finding{found(3, recipe.Likely)}, []string{lost, "▲41d"}, []string{maybe, mark}},
		"it has it again":         {"aaaa", []inspect.Finding{found(4, recipe.Likely)}, []string{"3.0s"}, []string{"absent", mark}},
		"released":                {"----", nil, []string{"absent  "}, []string{lost, maybe, mark}},
	} {
		var votes []inspect.Vote
		for i, v := range strings.ReplaceAll(tt.votes, "-", " ") {
			votes = append(votes, fixture.Vote(i+1, strings.TrimSpace(string(v)), 7*time.Second))
		}
		l := inspect.KeyLock(fixture.Id("redis:lock:cart:42"), votes, fixture.Noon)
		l.Findings = tt.found
		t.Run(name, func(t *testing.T) {
			m := showing(t, Options{}, 120, 36, l)
			wantText(t, m, tt.is...)
			wantNoText(t, m, tt.not...)
		})
	}
}
