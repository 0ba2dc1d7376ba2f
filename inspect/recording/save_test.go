package recording

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/internal/must"
)

// filmed plays each update at its second, and adds a snapshot to the past after each.
func filmed(t *testing.T, updates script, seconds ...int) (*inspect.Observer, *inspect.Past) {
	t.Helper()
	clock := now.Add(-time.Second)
	o := inspect.NewObserver(func() time.Time { return clock }, updates)
	past := inspect.NewPast(0, time.Millisecond, 1<<30)
	feed := o.Subscribe()
	must.Have(feed.Next(t.Context()))(t) // the first snapshot is available at once
	for i, u := range updates {
		clock = now.Add(time.Duration(seconds[i]) * time.Second)
		must.Succeed(t, o.Play(func(emit func(inspect.Update)) error { emit(u); return nil }))
		past.Add(must.Have(feed.Next(t.Context()))(t))
	}
	return o, past
}

func TestTheSavedPastPlays(t *testing.T) {
	o, past := filmed(t, runs()[0].(script), 1, 2, 3, 4)
	var file bytes.Buffer
	must.Succeed(t, Save(&file, Updates(past)))
	r := Read(time.Now, &file, Speed(0), Kept())
	again := inspect.NewObserver(r.Now, r)
	must.Succeed(t, again.Play(r.All))
	live, replayed := sortedBackends(t, document(t, o.Snapshot())), sortedBackends(t, document(t, again.Snapshot()))
	must.Equal(t, cmp.Diff(live, replayed), "")
	must.Be(t, Save(&failing{0}, Updates(past)), io.ErrShortWrite, "a full disk")
}

// Whether written live or saved later, a recording dates holds that ended in a gap as the screen
// did.
func TestRecordingsKeepGaps(t *testing.T) {
	queue := func(at time.Time, name string) inspect.Update {
		held := inspect.Contender{Name: inspect.Untrusted(name), State: inspect.Holding, Count: 1, Czxid: 1, Since: now}
		return inspect.Update{At: at, Put: []*inspect.Lock{{
			ID: inspect.ID{Backend: "zk", Path: "/l"}, Kind: inspect.KindMutex, State: inspect.StateHeld, Holders: []inspect.Contender{held}, ReadAt: at,
		}}}
	}
	first, last := queue(now, "a"), queue(now.Add(19*time.Second), "b")
	first.Backend = &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, Mode: inspect.ModeWatch, FirstPass: true}
	gap := inspect.Update{Gap: &inspect.Gap{Backend: "zk", From: now, Until: now.Add(18 * time.Second)}}
	updates := script{first, gap, last}
	_, past := filmed(t, updates, 0, 18, 19)
	var saved, reported bytes.Buffer
	must.Succeed(t, Save(&saved, Updates(past)))
	late := func() time.Time { return now.Add(time.Hour) } // after the updates
	must.Succeed(t, New(late, &reported, updates).Run(t.Context(), func(inspect.Update) {}))
	for name, file := range map[string]*bytes.Buffer{"saved": &saved, "recorded": &reported} {
		r := Read(time.Now, file, Speed(0), Kept())
		again := inspect.NewObserver(r.Now, r)
		feed := again.Subscribe()
		must.Have(feed.Next(t.Context()))(t) // the first snapshot is available at once, without events
		must.Succeed(t, again.Play(r.All))
		s := must.Have(feed.Next(t.Context()))(t)
		var kinds []string
		for _, e := range s.Events {
			kinds = append(kinds, string(e.Kind))
			if e.Contender != nil && (!e.Between.From.Equal(now) || !e.Between.To.Equal(now.Add(19*time.Second))) {
				t.Errorf("%s: %s between %v", name, e.Kind, e.Between)
			}
		}
		must.Equal(t, strings.Join(kinds, " "), "blind ended acquired", name)
	}
}

func document(t *testing.T, s *inspect.Snapshot) string {
	t.Helper()
	text := must.Have(json.Marshal(jsonform.Snapshot(s)))(t)
	notKept := regexp.MustCompile(`"watch_confirmed":\w+`)
	return notKept.ReplaceAllString(string(text), `"watch_confirmed":null`)
}
