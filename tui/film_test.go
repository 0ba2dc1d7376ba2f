package tui

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
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
	r := &rewound{at: fixture.Noon.AddDate(1, 0, 0)}
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
	r.wait(6 * time.Second)
	wantText(t, r.Model, "0:06 of 1:00, plays x1", "worker-1 ", "1 lock: ")
	press(r.Model, "space")
	r.wait(time.Minute)
	wantText(t, r.Model, "0:06 of 1:00, paused", "space plays", "worker-1 ")
	wantNoText(t, r.Model, "PAUSED", " PAST ")
	for _, key := range []string{"enter", "t", "c", "f", "b", "e"} {
		shows(t, r.Model, key, "0:06 of 1:00, paused")
	}
	wantText(t, r.Model, "2 events")
	press(r.Model, "space", ">", ">")
	r.wait(5 * time.Second)
	wantText(t, r.Model, "0:26 of 1:00, plays x4", "6 events")
	shows(t, r.Model, "[", "0:21 of 1:00", "5 events")
	r.wait(time.Minute)
	wantText(t, r.Model, "1:00 of 1:00, the end", "13 events")
	shows(t, r.Model, "]", "this is the end of the recording")
	shows(t, r.Model, "{ {", "the recording begins here", "0:00 of 1:00")
	shows(t, r.Model, "backspace", "1:00 of 1:00, the end")
	shows(t, r.Model, "space", "0:00 of 1:00, plays x4")
}

// The playhead waits for the reader, and continues with it.
func TestReplayWaitsForTheReader(t *testing.T) {
	t.Parallel()
	r := filming(t, Options{Speed: 60}, 80, 24)
	send(r.Model, filmedMsg{snapshots: frames(0, 3)})
	r.wait(time.Second)
	wantText(t, r.Model, "0:10 of 0:10 read, plays x60")
	send(r.Model, filmedMsg{snapshots: frames(3, 13)})
	r.wait(time.Second / 2)
	wantText(t, r.Model, "0:40 of 1:00 read, plays x60")
	shows(t, r.Model, "x", "this is a recording")
	send(r.Model, filmedMsg{err: errors.New("line 9: not JSON")})
	wantText(t, r.Model, "not JSON")
}

// A requested moment is drawn once it has been read, and nothing else until then. space cancels it.
// The end is the end of the whole recording, not of the part read so far.
func TestSoughtMomentIsDrawnOnceRead(t *testing.T) {
	t.Parallel()
	r := filming(t, Options{}, 120, 36)
	send(r.Model, filmedMsg{snapshots: frames(0, 3)})
	shows(t, r.Model, "] ] ] ]", "0:05 of 0:10 read, reading to 0:20", "space stops", "worker-1 ")
	wantNoText(t, r.Model, "this is the end")
	r.wait(time.Minute)
	wantText(t, r.Model, "0:05 of 0:10 read, reading to 0:20")
	send(r.Model, filmedMsg{snapshots: frames(3, 4)})
	wantText(t, r.Model, "0:05 of 0:15 read, reading to 0:20", "worker-1 ")
	send(r.Model, filmedMsg{snapshots: frames(4, 7)})
	wantText(t, r.Model, "0:20 of 0:30 read, plays x1", "worker-4 ")
	shows(t, r.Model, "}", "reading to 1:20")
	shows(t, r.Model, "space", "0:20 of 0:30 read, paused", "space plays")
	shows(t, r.Model, "} [ {", "0:15 of 0:30 read, paused", "worker-3 ")
	shows(t, r.Model, "backspace", "0:15 of 0:30 read, reading to the end", "worker-3 ")
	send(r.Model, filmedMsg{snapshots: frames(7, 13)})
	wantText(t, r.Model, "0:15 of 1:00 read, reading to the end", "worker-3 ")
	send(r.Model, filmedMsg{err: io.EOF})
	wantText(t, r.Model, "1:00 of 1:00, the end", "worker-12 ")

	r = filming(t, Options{}, 120, 36)
	send(r.Model, filmedMsg{snapshots: frames(0, 3)})
	r.wait(time.Minute)
	shows(t, r.Model, "]", "0:10 of 0:10 read, reading to 0:15")
	press(r.Model, "}")
	send(r.Model, filmedMsg{snapshots: frames(3, 7)})
	send(r.Model, filmedMsg{err: errors.New("line 9: not JSON")})
	wantText(t, r.Model, "0:30 of 0:30, the end", "not JSON")
}

func TestEmptyRecordingIsReported(t *testing.T) {
	t.Parallel()
	r := filming(t, Options{}, 80, 24)
	send(r.Model, filmedMsg{err: io.EOF})
	shows(t, r.Model, "[ space backspace >", "the recording is empty")
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
		hides(t, r.Model, "space ] ] ] ]", "not watched")
		r.step(2 * time.Second)
		send(r.Model, nil)
		wantText(t, r.Model, "not watched")
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
	send(r.Model, filmedMsg{snapshots: frames(0, 3)})
	wantText(t, r.Model, "0:00 of 1:00 (0:10 read), plays x1")
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
	r.wait(time.Minute)
	wantText(t, r.Model, "0:30 of 1:00, only 0:10 of its history read", "worker-6 ")
	shows(t, r.Model, "x", "this is a recording")
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
	shows(t, r.Model, "space", "of its history read", "space plays")
	shows(t, r.Model, "space", "of its history read", "space stops")
	ahead("[")
	send(r.Model, filmedMsg{snapshots: frames(3, 13)})
	wantText(t, r.Model, "0:55 of 1:00 (1:00 read), plays x1", "worker-11 ")
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
