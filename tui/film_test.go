package tui

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/recording"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// noFilm is a film whose snapshots the test supplies.
type noFilm struct{}

func (noFilm) Next(context.Context) ([]*inspect.Snapshot, error) { return nil, io.EOF }

func (noFilm) Moment(context.Context, time.Time) (*inspect.Snapshot, error) {
	return nil, errors.New("no index")
}

func (noFilm) End() time.Time { return time.Time{} }

// filming is a model that plays a recording with a handoff every 5 s. Its own clock is a year
// later.
func filming(t *testing.T, o Options, width, height int) *rewound {
	t.Helper()
	r := &rewound{t: t, at: fixture.Noon.AddDate(1, 0, 0)}
	o.Now, o.Replay = func() time.Time { return r.at }, true
	if o.Film == nil {
		o.Film = noFilm{}
	}
	r.Model = model(t, o, width, height, nil)
	return r
}

// frames returns the handoffs from one number up to another, exclusive.
func frames(from, to int) []*inspect.Snapshot {
	var list []*inspect.Snapshot
	for i := from; i < to; i++ {
		list = append(list, handedOver(i, fixture.In(time.Duration(i)*5*time.Second)))
	}
	return list
}

// A recording plays from its beginning, with its position, speed and end in a line on every screen;
// space stops it.
func TestReplayPlays(t *testing.T) {
	t.Parallel()
	r := filming(t, Options{}, 120, 36)
	wantText(t, r.Model, " REPLAY ")
	send(r.Model, filmedMsg{snapshots: frames(0, 7)})
	wantText(t, r.Model, "12:00:00  0:00 of 0:30 read, plays x1", "space stops", "worker-0 ")
	send(r.Model, filmedMsg{snapshots: frames(7, 13)})
	send(r.Model, filmedMsg{err: io.EOF})
	r.wait(6*time.Second, "0:06 of 1:00, plays x1", "worker-1 ", "1 lock: ")
	press(r.Model, "space")
	r.wait(time.Minute, "0:06 of 1:00, paused", "space plays", "worker-1 ")
	wantNoText(t, r.Model, "PAUSED", " PAST ")
	for _, key := range []string{"enter", "t", "c", "f", "b", "e"} {
		keysShow(t, r.Model, key, "0:06 of 1:00, paused")
	}
	wantText(t, r.Model, "2 events")
	press(r.Model, "space", ">", ">")
	r.wait(5*time.Second, "0:26 of 1:00, plays x4", "6 events")
	keysShow(t, r.Model, "[", "0:21 of 1:00", "5 events")
	r.wait(time.Minute, "1:00 of 1:00, the end", "13 events")
	keysShow(t, r.Model, "]", "this is the end of the recording")
	keysShow(t, r.Model, "{ {", "the recording begins here", "0:00 of 1:00")
	keysShow(t, r.Model, "backspace", "1:00 of 1:00, the end")
	keysShow(t, r.Model, "space", "0:00 of 1:00, plays x4")
}

// The playhead waits for the reader, and continues with it.
func TestReplayWaitsForTheReader(t *testing.T) {
	r := filming(t, Options{Speed: 60}, 80, 24)
	send(r.Model, filmedMsg{snapshots: frames(0, 3)})
	r.wait(time.Second, "0:10 of 0:10 read, plays x60")
	send(r.Model, filmedMsg{snapshots: frames(3, 13)})
	r.wait(time.Second/2, "0:40 of 1:00 read, plays x60")
	keysShow(t, r.Model, "x", "this is a recording")
	receives(t, r.Model, filmedMsg{err: errors.New("line 9: not JSON")}, "not JSON")
}

// A requested moment is drawn once it has been read, and nothing else until then. space cancels it.
// The end is the end of the whole recording, not of the part read so far.
func TestSoughtMomentIsDrawnOnceRead(t *testing.T) {
	t.Parallel()
	r := filming(t, Options{}, 120, 36)
	send(r.Model, filmedMsg{snapshots: frames(0, 3)})
	keysShow(t, r.Model, "] ] ] ]", "0:05 of 0:10 read, reading to 0:20", "space stops", "worker-1 ")
	wantNoText(t, r.Model, "this is the end")
	r.wait(time.Minute, "0:05 of 0:10 read, reading to 0:20")
	receives(t, r.Model, filmedMsg{snapshots: frames(3, 4)}, "0:05 of 0:15 read, reading to 0:20", "worker-1 ")
	receives(t, r.Model, filmedMsg{snapshots: frames(4, 7)}, "0:20 of 0:30 read, plays x1", "worker-4 ")
	keysShow(t, r.Model, "}", "reading to 1:20")
	keysShow(t, r.Model, "space", "0:20 of 0:30 read, paused", "space plays")
	keysShow(t, r.Model, "} [ {", "0:15 of 0:30 read, paused", "worker-3 ")
	keysShow(t, r.Model, "backspace", "0:15 of 0:30 read, reading to the end", "worker-3 ")
	receives(t, r.Model, filmedMsg{snapshots: frames(7, 13)}, "0:15 of 1:00 read, reading to the end", "worker-3 ")
	receives(t, r.Model, filmedMsg{err: io.EOF}, "1:00 of 1:00, the end", "worker-12 ")

	r = filming(t, Options{}, 120, 36)
	send(r.Model, filmedMsg{snapshots: frames(0, 3)})
	r.wait(time.Minute)
	keysShow(t, r.Model, "]", "0:10 of 0:10 read, reading to 0:15")
	press(r.Model, "}")
	send(r.Model, filmedMsg{snapshots: frames(3, 7)})
	receives(t, r.Model, filmedMsg{err: errors.New("line 9: not JSON")}, "0:30 of 0:30, the end", "not JSON")
}

func TestEmptyRecordingIsReported(t *testing.T) {
	r := filming(t, Options{}, 80, 24)
	send(r.Model, filmedMsg{err: io.EOF})
	keysShow(t, r.Model, "[ space backspace >", "the recording is empty")
}

// In a gap of a recording, everything looks unknown.
func TestGapsLookUnknown(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 120, 200} {
		r := filming(t, Options{}, width, 36)
		list := frames(0, 13)
		b := list[0].Backends[0]
		list[5].Events = append(list[5].Events, inspect.Event{
			Kind: inspect.EventBlind, At: list[5].TakenAt, Backend: b,
			Between: inspect.Interval{From: fixture.In(20 * time.Second), To: fixture.In(25 * time.Second)},
		})
		send(r.Model, filmedMsg{snapshots: list})
		send(r.Model, filmedMsg{err: io.EOF})
		keysHide(t, r.Model, "space ] ] ] ]", "not watched")
		r.step(2 * time.Second)
		receives(t, r.Model, nil, "not watched")
		must.Equal(t, r.Snapshot().Backends[0].State, inspect.Down, "in the gap")
		must.True(t, b.State != inspect.Down, "down after the gap")
		fits(t, r.Model)
		r.step(3 * time.Second)
		send(r.Model, nil)
		wantNoText(t, r.Model, "not watched")
	}
}

// indexedFilm is a minute long, and can return any moment of it.
type indexedFilm struct{ noFilm }

func (indexedFilm) Moment(_ context.Context, at time.Time) (*inspect.Snapshot, error) {
	n := min(12, int(at.Sub(fixture.Noon)/(5*time.Second)))
	s := frames(n, n+1)[0]
	if end := (indexedFilm{}).End(); at.After(end) {
		at = end
	}
	s.TakenAt, s.Events = at, nil
	return s, nil
}

func (indexedFilm) End() time.Time { return fixture.In(time.Minute) }

// A moment found in the index is drawn before the history up to it is read, and the screen says so.
// Once that is read, the moment is redrawn and plays on, unless space stops it first.
func TestIndexedMomentIsDrawnAhead(t *testing.T) {
	t.Parallel()
	r := filming(t, Options{Film: indexedFilm{}}, 120, 36)
	receives(t, r.Model, filmedMsg{snapshots: frames(0, 3)}, "0:00 of 1:00 (0:10 read), plays x1")
	ahead := func(keys ...string) {
		var last tea.Cmd
		for _, key := range keys {
			last = press(r.Model, key)
		}
		send(r.Model, moments(last)...)
	}
	press(r.Model, "space")
	ahead("]", "]", "]", "]", "]", "]")
	wantText(t, r.Model, "0:30 of 1:00, only 0:10 of its history read", "worker-6 ", "space plays")
	r.wait(time.Minute, "0:30 of 1:00, only 0:10 of its history read", "worker-6 ")
	keysShow(t, r.Model, "x", "this is a recording")
	ahead("]", "]")
	wantText(t, r.Model, "0:40 of 1:00, only 0:10 of its history read", "worker-8 ")
	late, unstarted := moments(press(r.Model, "[")), press(r.Model, "]")
	ahead("[", "[")
	send(r.Model, late...) // the user has requested another moment
	send(r.Model, moments(unstarted)...)
	wantText(t, r.Model, "0:30 of 1:00, only 0:10 of its history read", "worker-6 ")
	ahead("backspace")
	wantText(t, r.Model, "1:00 of 1:00, only 0:10 of its history read", "worker-12 ")
	ahead("[", "[", "[")
	wantNoText(t, r.Model, "1 event ")
	send(r.Model, filmedMsg{snapshots: frames(3, 7)})
	press(r.Model, "[")
	send(r.Model, filmedMsg{snapshots: frames(7, 13)}, filmedMsg{err: io.EOF})
	wantText(t, r.Model, "paused", "worker-")
	wantNoText(t, r.Model, "of its history read")
	r = filming(t, Options{Film: indexedFilm{}}, 120, 36)
	send(r.Model, filmedMsg{snapshots: frames(0, 3)})
	ahead("}")
	keysShow(t, r.Model, "space", "of its history read", "space plays")
	keysShow(t, r.Model, "space", "of its history read", "space stops")
	ahead("[")
	receives(t, r.Model, filmedMsg{snapshots: frames(3, 13)}, "0:55 of 1:00 (1:00 read), plays x1", "worker-11 ")
}

// moments returns a command's answers about requested moments.
func moments(cmd tea.Cmd) []tea.Msg { return messages[momentMsg](cmd) }

// slowFilm returns moments once they are released; each lookup waits for that or for its cancellation.
type slowFilm struct {
	indexedFilm
	begun   chan time.Time
	release chan struct{}
}

func (f slowFilm) Moment(ctx context.Context, at time.Time) (*inspect.Snapshot, error) {
	f.begun <- at
	select {
	case <-f.release:
		return f.indexedFilm.Moment(ctx, at)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Each seek cancels the previous lookup, and so do space and a moment that needs no lookup.
func TestSeekCancelsPreviousLookup(t *testing.T) {
	t.Parallel()
	film := slowFilm{begun: make(chan time.Time, 1), release: make(chan struct{})}
	r := filming(t, Options{Film: film}, 120, 36)
	send(r.Model, filmedMsg{snapshots: frames(0, 3)})
	press(r.Model, "space")
	seek := func(key string) chan []tea.Msg {
		answer, cmd := make(chan []tea.Msg, 1), press(r.Model, key)
		go func() { answer <- moments(cmd) }()
		<-film.begun
		return answer
	}
	given := func(answer chan []tea.Msg, by string) {
		t.Helper()
		select {
		case list := <-answer:
			send(r.Model, list...)
			must.True(t, !r.playhead.ahead, by, "the cancelled moment is drawn")
		case <-time.After(time.Minute):
			t.Fatalf("%s: the previous lookup goes on", by)
		}
	}
	press(r.Model, "]", "]")
	answer := seek("]")
	for range 50 {
		next := seek("]")
		given(answer, "]")
		answer = next
	}
	press(r.Model, "space")
	given(answer, "space")
	press(r.Model, "]")
	answer = seek("}")
	press(r.Model, "[")
	send(r.Model, filmedMsg{snapshots: frames(3, 4)})
	answer2 := seek("backspace")
	given(answer, "[")
	send(r.Model, filmedMsg{snapshots: frames(4, 13)}, filmedMsg{err: io.EOF})
	given(answer2, "the end is read")

	r = filming(t, Options{Film: film}, 120, 36)
	send(r.Model, filmedMsg{snapshots: frames(0, 3)})
	answer = seek("}")
	last := seek("[")
	given(answer, "[")
	close(film.release)
	send(r.Model, <-last...)
	wantText(t, r.Model, "0:55 of 1:00, only 0:10 of its history read", "worker-11 ")
}

// twoScenes are the scenes of a short demonstration.
func twoScenes() []Scene {
	return []Scene{
		{Title: "first", Text: "look at invoices", Lock: inspect.ID{Backend: "redis", Path: "lock:invoices"}},
		{Title: "second", Text: "look at orders", Lock: fixture.Orders().ID},
	}
}

func TestDemoRunsUntilKeyPress(t *testing.T) {
	clock := fixture.Noon
	m := model(t, Options{Scenes: twoScenes(), Now: func() time.Time { return clock }}, 80, 24, fixture.Everything())
	beat := func(d time.Duration) {
		clock = clock.Add(d)
		send(m, tickedMsg{m.ticking})
	}
	beat(time.Second)
	wantText(t, m, "1/2 first", "look at invoices", "demo running: any key pauses")
	must.Equal(t, locksOf(m).Current.Lock, twoScenes()[0].Lock, "selected")
	beat(sceneTime)
	wantText(t, m, "2/2 second")
	must.Equal(t, locksOf(m).Current.Lock, fixture.Orders().ID, "selected")
	press(m, "k")
	selected := locksOf(m).Current.Lock
	beat(sceneTime)
	wantText(t, m, "2/2 second")
	must.Equal(t, locksOf(m).Current.Lock, selected, "the demo moved the user's cursor")
	wantText(t, m, "demo paused: P resumes")
	keysShow(t, m, "P", "demo running: any key pauses", "2/2 second")
	beat(sceneTime)
	wantText(t, m, "1/2 first")
	receives(t, m, tea.MouseClickMsg{X: 10, Y: 5, Button: tea.MouseLeft}, "demo paused: P resumes")
}

func TestArrowsChangeTheScene(t *testing.T) {
	m := model(t, Options{Scenes: twoScenes()}, 80, 24, fixture.Everything())
	keysShow(t, m, "enter", "▸ chain")
	keysHide(t, m, "right", "▸ chain")
	wantText(t, m, "2/2 second")
	must.Equal(t, locksOf(m).Current.Lock, fixture.Orders().ID, "selected")
	keysShow(t, m, "right left", "2/2 second")
	m = model(t, Options{Scenes: twoScenes(), Theme: theme.Options{ASCII: true}}, 120, 36, fixture.Everything(), "?")
	must.True(t, isASCII(content(m)), "not ASCII")
}

// A caption always takes two lines, so that the screen does not jump when it changes.
func TestCaptionsTakeTwoLines(t *testing.T) {
	scenes := []Scene{{Title: "short", Text: "a"}, {Title: "long", Text: strings.Repeat("word ", 60)}}
	m := model(t, Options{Scenes: scenes}, 80, 24, fixture.Everything())
	before := len(frame{m}.foot())
	press(m, "right")
	must.Equal(t, before, 4, "lines of the footer")
	must.Equal(t, len(frame{m}.foot()), 4, "lines of the footer then")
	fits(t, m)
}

// demoTour plays the recording behind the screenshots to a model, up to a time and by the recording's
// clock. It calls drawn after each snapshot.
func demoTour(t *testing.T, until time.Duration, drawn func(m *Model)) *Model {
	t.Helper()
	played, err := recording.Open(time.Now, "../screenshots/tour.jsonl.gz", recording.Speed(0), recording.Kept())
	must.Succeed(t, err)
	observer := inspect.NewObserver(played.Now, played)
	observer.Diagnose(finding.Rules(), 10*time.Second)
	m := model(t, Options{Now: played.Now, Sandbox: true}, 120, 36, nil)
	err = observer.Film(inspect.PastStep, func(emit func(inspect.Update)) error { return played.To(until, emit) }, func(s *inspect.Snapshot) {
		send(m, snapshotArrivedMsg{snapshot: s}, tickedMsg{m.ticking})
		if drawn != nil {
			drawn(m)
		}
	})
	must.Succeed(t, err)
	return m
}

// A new user's first questions to the demo take at most five keys: who blocks this lock, is it fair,
// what goes into the ticket.
func TestThreeTasksTakeFewKeys(t *testing.T) {
	for name, task := range map[string]struct {
		keys []string
		seen []string // on the screen
	}{
		"who blocks this":           {[]string{"enter"}, []string{"zk:/locks/accounts", "transfer-1 (127.0.0.1:45306) has held it for 45s · 3 waiting · next: transfer-2", "lockscope release zk:/locks/ledger --owner"}},
		"who blocks the fifth":      {[]string{"j", "j", "j", "j", "enter"}, []string{"zk:/locks/payments", "payment-1", "has held it for", "4 waiting · next", "stuck-holder"}},
		"who blocks most":           {[]string{"c"}, []string{"BLOCKS", "sort: blocks the most"}},
		"is it fair":                {[]string{"t"}, []string{"zk:/locks/accounts", "acquired too rarely to judge fairness"}},
		"is the fifth fair":         {[]string{"j", "j", "j", "j", "t"}, []string{"zk:/locks/payments", "fair: no overtaking"}},
		"what goes into the ticket": {[]string{"Y", "enter"}, []string{"Ticket of zk:/locks/accounts", "writing the file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := demoTour(t, 45*time.Second, nil)
			must.True(t, len(task.keys) <= 5, "too many keys")
			for _, k := range task.keys {
				press(m, k)
				if m.inFront == screen.Clients {
					makeClients(m)
				}
			}
			wantText(t, m, task.seen...)
		})
	}
}

// lineOf is the screen line of the cursor.
func lineOf(m *Model) int {
	at := func(line string) bool { return strings.HasPrefix(line, m.theme.Glyphs.Cursor) }
	return slices.IndexFunc(splitLines(content(m)), at)
}

// A moment of a recording is drawn with its past: plots of the minutes before, and keys to go back.
func TestAMomentHasItsPast(t *testing.T) {
	t.Parallel()
	past := inspect.NewPast(inspect.PastKept, inspect.PastStep, inspect.PastBudget)
	var last *inspect.Snapshot
	demoTour(t, 20*time.Second, func(m *Model) {
		last = m.snapshot
		past.Add(last)
	})
	m := model(t, Options{Past: past, Now: func() time.Time { return last.TakenAt }, Replay: true}, 120, 36, last)
	row := lineWith(t, m, "zk:/locks/payments")
	must.True(t, strings.ContainsAny(row, "▁▂▃▄▅▆▇█"), "the past is not plotted", row)
	keysShow(t, m, "[", "5s ago, paused")
}
