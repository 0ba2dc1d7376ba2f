package recording

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
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
	notKept := regexp.MustCompile(`"watch_confirmed": \w+`)
	live, replayed := document(t, o.Snapshot()), document(t, again.Snapshot())
	must.NoDiff(t, cmp.Diff(notKept.ReplaceAllString(live, ""), notKept.ReplaceAllString(replayed, "")))
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
			ended := e.Between.From.Equal(now) && e.Between.To.Equal(now.Add(19*time.Second))
			must.True(t, e.Contender == nil || ended, name, e.Kind, "between", e.Between)
		}
		must.Equal(t, strings.Join(kinds, " "), "blind ended acquired", name)
		must.Equal(t, r.Now(), now.Add(19*time.Second), name, "the last time")
	}
}

// A packed recording is flushed after each line, so a recording that a crash cuts off plays up to its
// last line.
func TestCrashedPackedRecordingStillPlays(t *testing.T) {
	all := slices.Collect(bytes.Lines(record(t, runs()...)))
	var packed bytes.Buffer
	var ends []int // its length after each line
	w := must.Have(Pack(&packed))(t)
	for _, line := range all {
		must.Have(w.Write(line))(t)
		ends = append(ends, packed.Len())
	}
	must.Succeed(t, w.Close())
	look := func(file []byte) (played int, r *Replay, span time.Time) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "x.zst")
		must.Succeed(t, os.WriteFile(path, file, 0o600))
		r = must.Have(Open(time.Now, path, Speed(0), Kept()))(t)
		must.Succeed(t, r.All(func(inspect.Update) { played++ }))
		return played, r, must.Have(finderOf(t, path).End(t.Context()))(t)
	}
	for i, end := range append(ends, packed.Len()) {
		want, _, until := look(bytes.Join(all[:min(i+1, len(all))], nil))
		n, r, span := look(packed.Bytes()[:end])
		must.Equal(t, n, want, "updates up to line", i+1)
		must.True(t, span.Equal(until), "the end after line", i+1, "is", span, "want", until)
		must.Equal(t, r.Cut(), i < len(ends), "cut after line", i+1)
	}
}
