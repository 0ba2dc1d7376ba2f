package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/chain"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// rewound is a model that has seen a minute of handoffs, one every 5 s, by its own clock.
type rewound struct {
	*Model
	t  *testing.T
	at time.Time
}

// handedOverFor returns a screen that has seen 13 workers acquire a lock one after the other, five seconds each.
func handedOverFor(t *testing.T, o Options, width, height int) *rewound {
	t.Helper()
	r := &rewound{t: t, at: fixture.Noon}
	o.Now = func() time.Time { return r.at }
	r.Model = model(t, o, width, height, nil)
	for i := range 13 {
		r.handOver(i)
		r.at = r.at.Add(5 * time.Second)
	}
	send(r.Model, tickedMsg{r.ticking})
	return r
}

func (r *rewound) handOver(i int) { deliver(r.Model, handedOver(i, r.at)) }

// handedOver is a snapshot in which worker-i has just acquired the lock.
func handedOver(i int, at time.Time) *inspect.Snapshot {
	c := fixture.Znode(int32(i), fmt.Sprintf("worker-%d", i), 0, nil, 0)
	c.Since, c.HeldSince = at.Add(-time.Second), at
	l := fixture.Orders()
	l.Holders, l.Waiters, l.State, l.Findings = []inspect.Contender{c}, nil, inspect.StateHeld, nil
	s := inspect.NewSnapshot(at, fixture.Backends()[:1], []*inspect.Lock{l})
	s.Events = []inspect.Event{{Kind: inspect.EventAcquired, At: at, Lock: l.ID, Contender: &c}}
	return s
}

// wait lets time pass, and wants texts on the screen.
func (r *rewound) wait(d time.Duration, texts ...string) {
	r.t.Helper()
	r.at = r.at.Add(d)
	must.True(r.t, send(r.Model, tickedMsg{r.ticking}) != nil, "no next tick")
	wantText(r.t, r.Model, texts...)
}

// Every screen can go back in time: it shows the state and events of that moment, and its position.
// Keys go forward and back to now.
func TestScrubbing(t *testing.T) {
	r := handedOverFor(t, Options{}, 120, 36)
	wantText(t, r.Model, "worker-12")
	keysShow(t, r.Model, "{", " PAST ", "12:00:05", "1m00s ago, paused", "12:00:00 ", "space plays", "worker-1 ")
	wantNoText(t, r.Model, "worker-12")
	for _, keys := range [][]string{{"enter"}, {"t"}, {"c"}, {"f"}, {"b"}} {
		press(r.Model, keys...)
		wantNoText(t, r.Model, "worker-12", "worker-2")
		wantText(t, r.Model, " PAST ", "1m00s ago")
	}
	keysShow(t, r.Model, "e", "worker-1 ", "2 events")
	wantNoText(t, r.Model, "worker-2 ")
	keysShow(t, r.Model, "]", "12:00:10", "worker-2 ", "3 events")
	keysShow(t, r.Model, "[ [", "12:00:00", "1 event")
	keysShow(t, r.Model, "[", "no history before 12:00:00")
	keysHide(t, r.Model, "backspace", " PAST ", "ago, stands")
	wantText(t, r.Model, "13 events")
	keysShow(t, r.Model, "}", "already live")
}

// The past plays at its speed, stops on request, and ends at the present, which has moved on meanwhile.
func TestPlayingThePast(t *testing.T) {
	r := handedOverFor(t, Options{}, 120, 36)
	keysShow(t, r.Model, "enter { space", "plays x1", "space stops")
	r.wait(6*time.Second, "12:00:11", "worker-2 ")
	press(r.Model, ">", ">")
	r.wait(5*time.Second, "12:00:31", "plays x4", "worker-6 ")
	keysShow(t, r.Model, "< < < < <", "plays x1/4")
	r.wait(4*time.Second, "12:00:32")
	press(r.Model, "space")
	r.wait(time.Minute, "12:00:32", "paused")
	r.handOver(99)
	wantNoText(t, r.Model, "worker-99")
	keysShow(t, r.Model, "] ]", "12:00:42")
	press(r.Model, ">", ">", ">", ">", ">", ">", ">", ">", "space")
	r.wait(10 * time.Second)
	wantNoText(t, r.Model, " PAST ")
	wantText(t, r.Model, "worker-99")
	must.Equal(t, r.Log().End(), 14, "events")
}

// A paused screen can go back in time, too. Events during the pause are shown, and play on after it.
func TestScrubbingAPause(t *testing.T) {
	r := handedOverFor(t, Options{}, 120, 36)
	keysShow(t, r.Model, "space", "PAUSED: space resumes")
	r.handOver(50)
	r.at = r.at.Add(10 * time.Second)
	wantNoText(t, r.Model, "worker-50")
	keysShow(t, r.Model, "[", " PAST ")
	keysShow(t, r.Model, "backspace", "worker-50")
	must.Equal(t, r.Log().End(), 14, "events")
	must.True(t, !r.Paused(), "still paused")
}

// A release is not even previewed, since the preview would show the present.
func TestNothingIsPreviewedInThePast(t *testing.T) {
	releasing := &fakeReleaser{}
	m := opened(t, Options{Release: releasing.of, ReadOnly: "the profile is read-only"}, 120, 36, fixture.Orders().ID)
	m.pastEvents = &m.events
	press(m, "x")
	must.True(t, !m.HasDialog(), "x opened a preview of the past")
	wantText(t, m, "this is the past: backspace returns to live")
	m.pastEvents = nil
	press(m, "x")
	must.True(t, m.HasDialog(), "x opened no preview of now")
}

func TestThePastIsSaved(t *testing.T) {
	var kept *inspect.Past
	var fails error
	r := handedOverFor(t, Options{SavePast: func(_ context.Context, p *inspect.Past) (string, error) {
		kept = p
		return "/tmp/it's.jsonl", fails
	}}, 120, 36)
	keysShow(t, r.Model, "R", "Save what was seen since 12:00:00", "[ Save ]", "lockscope-past-TIME.jsonl")
	refuses(t, r.Model, "tab", "enter") // Cancel
	cmd := press(r.Model, "R", "enter")
	wantText(t, r.Model, "saving")
	r.handOver(77) // after the save: not in the file
	receives(t, r.Model, cmd(), `saved: lockscope replay '/tmp/it'\''s.jsonl'`)
	must.True(t, kept.To().Equal(fixture.Noon.Add(time.Minute)), "to", kept.To())
	must.Equal(t, kept.From(), fixture.Noon, "from")
	fails = errors.New("disk full")
	receives(t, r.Model, press(r.Model, "R", "enter")(), "not saved: disk full")
	wantText(t, model(t, Options{}, 80, 24, fixture.Everything(), "R"), "this screen writes no files")
}

// The line of the past fits every window without cuts, and always has the key back to now.
func TestThePastLineFits(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 50, 60, 70, 80, 100, 120, 200} {
		r := handedOverFor(t, Options{}, width, 24)
		for _, inexact := range []int{0, 12} {
			for _, keys := range [][]string{{"["}, {"space"}} {
				press(r.Model, keys...)
				r.playhead.inexact = inexact
				wantText(t, r.Model, "s ago", "backspace: live")
				wantNone(t, (frame{r.Model}).pastLine()[0], r.theme.Glyphs.Ellipsis)
				fits(t, r.Model)
			}
		}
	}
}

// A change of speed and its limits are reported even if nothing plays.
func TestTheSpeedIsReported(t *testing.T) {
	r := handedOverFor(t, Options{}, 120, 36)
	keysShow(t, r.Model, "[ >", "the past plays x2")
	keysShow(t, r.Model, "< <", "the past plays x1/2")
	keysShow(t, r.Model, "< <", "x1/4 is the limit")
	keysShow(t, r.Model, "> > > > > > > > >", "x64 is the limit")
}

// The demonstration plays at the present. While paused, it is not shown as playing.
func TestTheDemonstrationLeavesThePast(t *testing.T) {
	r := handedOverFor(t, Options{Scenes: twoScenes()}, 120, 36)
	keysShow(t, r.Model, "[ P", "demo running: any key pauses")
	wantNoText(t, r.Model, " PAST ")
	keysShow(t, r.Model, "space", "demo paused: space resumes")
	keysShow(t, r.Model, "P", "demo running: any key pauses")
	wantNoText(t, r.Model, "PAUSED")
}

// A time typed in the palette, or the acquisition by the selected holder, is shown at once.
func TestRewindGoesToExactTime(t *testing.T) {
	r := handedOverFor(t, Options{}, 120, 36)
	keysShow(t, r.Model, ": 12:00:20", "go back to that time")
	press(r.Model, "enter")
	must.Equal(t, r.playhead.at, fixture.In(20*time.Second), "at")
	press(r.Model, "backspace")
	c := r.snapshot.Lock(fixture.Orders().ID).Holders[0]
	press(r.Model, "@")
	must.Equal(t, r.playhead.at, c.HeldSince.Add(inspect.PastStep), "the grant was at")
	wantText(t, r.Model, "when worker-12 acquired zk:/locks/orders")
	must.Equal(t, r.snapshot.Lock(fixture.Orders().ID).Holders[0].Name, c.Name, "then held by")
	must.True(t, r.inPast(), "not in the past")
	press(r.Model, "backspace")
	r.handOver(20) // just now: the nearest moment is the present
	keysShow(t, r.Model, "@", " PAST ", "worker-20 ")
	must.Equal(t, r.playhead.at, r.at, "the present")
}

// In a lock with several holders, the cursor stays with the one whose acquisition is shown.
func TestRewindStaysWithItsHolder(t *testing.T) {
	r := handedOverFor(t, Options{}, 120, 36)
	holder := func(i int, since time.Time) inspect.Contender {
		c := fixture.Znode(int32(i), fmt.Sprintf("printer-%d", i), 0, nil, 0)
		c.Since, c.HeldSince = since, since
		return c
	}
	l := fixture.Orders()
	show := func(holders ...inspect.Contender) {
		l = fixture.Orders()
		l.Holders, l.Waiters, l.State, l.Findings, l.Kind = holders, nil, inspect.StateHeld, nil, inspect.KindSemaphore
		deliver(r.Model, inspect.NewSnapshot(r.at, fixture.Backends()[:1], []*inspect.Lock{l}))
	}
	first, second := holder(101, r.at), holder(102, r.at.Add(5*time.Second))
	show(first)
	r.wait(5 * time.Second)
	show(first, second)
	r.wait(10 * time.Second)
	show(second)
	r.wait(5 * time.Second)
	show(second, holder(103, r.at))
	goTo(r.Model, screen.Chain, screen.Subject{Lock: l.ID})
	keysShow(t, r.Model, "@", "when printer-102 acquired")
	_, c := r.front().(*chain.Screen).Contender()
	must.Equal(t, c.Name, second.Name, "selected")
	press(r.Model, "backspace", "H", "@")
	wantText(t, r.Model, "when printer-102 acquired", "follows this client") // the first holder, which the list describes
	press(r.Model, "enter")
	_, c = r.front().(*chain.Screen).Contender()
	must.Equal(t, c.Name, second.Name, "selected in the chain")
}

// If there is no moment to go to, the reason is shown.
func TestAnUnknownMomentIsExplained(t *testing.T) {
	m := opened(t, Options{}, 120, 36, fixture.Orders().ID)
	keysShow(t, m, "j @", "it has not acquired the lock yet")
	l := fixture.Orders()
	l.Holders[0].HeldSince = time.Time{}
	deliver(m, inspect.NewSnapshot(fixture.Noon, fixture.Backends()[:1], []*inspect.Lock{l}))
	keysShow(t, m, "g @", "its acquisition of the lock was not seen")
	r := handedOverFor(t, Options{}, 120, 36)
	l = fixture.Orders()
	l.Holders[0].HeldSince, l.Holders[0].Seen = time.Time{}, fixture.In(20*time.Second)
	deliver(r.Model, inspect.NewSnapshot(r.at, fixture.Backends()[:1], []*inspect.Lock{l}))
	press(r.Model, "@")
	must.Equal(t, r.playhead.at, fixture.In(20*time.Second).Add(inspect.PastStep))
	wantText(t, r.Model, "already held when first seen: zk:/locks/orders, by ")
}

// The changes are listed from two minutes ago, the oldest kept moment, or the moment shown, to now.
func TestChangesAreListed(t *testing.T) {
	r := handedOverFor(t, Options{}, 120, 36)
	cmd := press(r.Model, "D")
	wantText(t, r.Model, "Comparing", "from 12:00:00 to 12:01:00")
	send(r.Model, cmd())
	wantText(t, r.Model, "No hold was seen to expire or be forced.", "1 lock changed", "1 lock changed only holders or waiters", "  zk:/locks/orders ")
	keysRun(t, r.Model, "esc { D", "from 12:00:05 to 12:01:00")
	press(r.Model, "D")
	must.True(t, !r.HasDialog(), "the dialog did not close")
	goTo(r.Model, screen.Chain, screen.Subject{Lock: fixture.Orders().ID})
	run(t, r.Model, press(r.Model, "D"))
	wantText(t, r.Model, "1 lock changed", "Only zk:/locks/orders; on the lock list, D compares all locks.",
		"acquired         worker-12", "no longer holds  worker-1 ")
	wantText(t, model(t, Options{}, 80, 24, nil, "D"), "nothing has been seen yet")
}

func TestLostHoldsComeFirst(t *testing.T) {
	r := handedOverFor(t, Options{}, 120, 36)
	c := fixture.Znode(0, "worker-0", 0, nil, 0)
	for _, kind := range []inspect.EventKind{inspect.EventForced, inspect.EventReleased, inspect.EventExpired} {
		at := fixture.Noon.Add(-inspect.PastStep) // a step before the first moment, as after @
		r.events.Add([]inspect.Event{{Kind: kind, At: at, Lock: fixture.Orders().ID, Contender: &c}})
	}
	run(t, r.Model, press(r.Model, "D"))
	text := content(r.Model)
	order := []string{"did not release", "expired  zk:/locks/orders  worker-0", "forced   zk:/locks/orders  worker-0", "changed only holders or waiters"}
	for _, part := range order {
		_, after, ok := strings.Cut(text, part)
		must.True(t, ok, part, "is not next in", text)
		text = after
	}
	wantNoText(t, r.Model, " released  zk:", "ended holds")
}

// Findings that neither moment shows are listed.
func TestPassingFindingsAreListed(t *testing.T) {
	r := handedOverFor(t, Options{}, 120, 36)
	f := fixture.Trouble("herd", inspect.Warning, "")
	for i, kind := range []inspect.EventKind{inspect.EventFinding, inspect.EventCleared, inspect.EventFinding, inspect.EventCleared} {
		at := fixture.In(time.Second + time.Duration(i)*10*time.Second)
		r.events.Add([]inspect.Event{{Kind: kind, At: at, Lock: fixture.Orders().ID, Finding: &f}})
	}
	run(t, r.Model, press(r.Model, "D"))
	wantText(t, r.Model, "Open now: 0 critical, 0 warnings, 0 info, 0 muted (f lists them).", "findings that came and went", "12:00:31  cleared  zk:/locks/orders  herd, 2 times")
	wantNoText(t, r.Model, "12:00:11  cleared")
}

func TestPassingLocksAreListed(t *testing.T) {
	t.Parallel()
	r := handedOverFor(t, Options{}, 120, 36)
	for path, at := range map[string]time.Duration{"/locks/gone": 10 * time.Second, "/locks/orders": time.Second, "/locks/early": -time.Minute} {
		for i, kind := range []inspect.EventKind{inspect.EventAppeared, inspect.EventGone} {
			after := fixture.In(at + time.Duration(i)*10*time.Second)
			r.events.Add([]inspect.Event{{Kind: kind, At: after, Lock: fixture.Id("zk:" + path)}})
		}
	}
	keysRun(t, r.Model, "D", "locks that came and went", "12:00:10 to 12:00:20  zk:/locks/gone")
	wantNoText(t, r.Model, "to 12:00:11", "/locks/early")
}

// A lock that came later is not called gone in the past.
func TestALaterLockWasNotKnown(t *testing.T) {
	r := handedOverFor(t, Options{}, 120, 36)
	late := *fixture.FreeLock()
	both := []*inspect.Lock{r.snapshot.Lock(fixture.Orders().ID), &late}
	deliver(r.Model, inspect.NewSnapshot(r.at, fixture.Backends()[:1], both))
	press(r.Model, "/", late.ID.Path, "enter", "esc", "{")
	wantText(t, r.Model, late.ID.String()+" was not known then", "This lock was not known then.")
	wantNoText(t, r.Model, "is gone")
}

// A finding that is open has the time of its event, and a critical one is named at the top.
func TestChangesTimeFindings(t *testing.T) {
	r := handedOverFor(t, Options{}, 120, 36)
	l := fixture.Orders()
	l.Findings = []inspect.Finding{fixture.Trouble("herd", inspect.Critical, ""), fixture.Trouble("split", inspect.Critical, "")}
	l.Findings[1].Muted = &inspect.Muted{}
	s := inspect.NewSnapshot(r.at, fixture.Backends()[:1], []*inspect.Lock{l})
	s.Events = []inspect.Event{{Kind: inspect.EventFinding, At: fixture.In(61 * time.Second), Lock: l.ID, Finding: &l.Findings[0]}}
	deliver(r.Model, s)
	run(t, r.Model, press(r.Model, "D"))
	wantText(t, r.Model, "Open now: 1 critical, 0 warnings, 0 info, 1 muted (f lists them).", "critical  zk:/locks/orders  herd",
		"reported         12:01:01  critical: herd")
}

// A long comparison scrolls, and wraps its long lines.
func TestLongComparisonsScroll(t *testing.T) {
	m := model(t, Options{}, 80, 24, fixture.Everything())
	name := strings.Repeat("x", 100)
	d := &comparing{world: m.world, generation: 1}
	m.Push(d)
	var lines []string
	for i := range 40 {
		lines = append(lines, "", fmt.Sprintf("zk:/locks/%d   held", i), "  acquired  "+name)
	}
	receives(t, m, comparedMsg{1, "40 locks changed", lines}, "zk:/locks/0 ", "more lines")
	keysShow(t, m, "G", "zk:/locks/39 ")
	_, last, _ := strings.Cut(content(m), "zk:/locks/39 ")
	must.Equal(t, strings.Count(last, "x"), len(name), "the last name is cut")
}

// A message about a key disappears with the next one.
func TestNextKeyClearsMessages(t *testing.T) {
	m := model(t, Options{}, 120, 36, fixture.Everything())
	keysShow(t, m, "esc", "already on the lock list")
	keysHide(t, m, "j", "already on the lock list")
}

// The notice in a window that is too small fits; in the smallest, it is two words.
func TestSmallWindowNoticeFits(t *testing.T) {
	for _, size := range [][2]int{{39, 11}, {20, 5}, {12, 8}} {
		m := model(t, Options{}, size[0], size[1], fixture.Everything())
		text := strings.Join(strings.Fields(content(m)), " ")
		must.Contain(t, text, "lockscope needs a window of at least 40x12. This one is", size)
		fits(t, m)
	}
	wantText(t, model(t, Options{}, 10, 3, fixture.Everything()), "too small")
}
