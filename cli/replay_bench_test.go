package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/finding"
	"lockscope/inspect/recipe"
	"lockscope/inspect/recording"
)

// BenchmarkReplayHour is the time until the screen has something of an hour to draw, at most a second, and until all of it is read:
// 30 locks of four contenders each, 4 and 100 changes a second.
func BenchmarkReplayHour(b *testing.B) {
	for _, rate := range []int{4, 100} {
		b.Run(fmt.Sprintf("changes=%d", rate), func(b *testing.B) {
			path := hour(b, rate)
			for b.Loop() {
				begun := time.Now()
				played, err := recording.Open(time.Now, path, recording.Speed(0), recording.Kept())
				if err != nil {
					b.Fatal(err)
				}
				observer := inspect.NewObserver(played.Now, played)
				observer.Diagnose(finding.Rules(), time.Minute)
				f := newFilm(played)
				go f.readAhead(b.Context(), observer)
				past, first := inspect.NewPast(0, inspect.PastStep, 4*inspect.PastBudget), time.Duration(0)
				for {
					batch, err := f.Next(b.Context())
					if err == io.EOF {
						break
					}
					if err != nil {
						b.Fatal(err)
					}
					for _, s := range batch {
						past.Add(s)
					}
					if first == 0 {
						first = time.Since(begun)
					}
				}
				if past.To().Sub(past.From()) < 59*time.Minute {
					b.Fatalf("%v to %v", past.From(), past.To())
				}
				b.ReportMetric(float64(first.Microseconds())/1000, "first-ms")
				b.ReportMetric(time.Since(begun).Seconds(), "all-s")
			}
		})
	}
}

// hour is a recording of an hour of hand-overs.
func hour(b *testing.B, rate int) (path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "hour.jsonl")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	backend := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, Mode: inspect.ModeWatch, FirstPass: true}
	err = recording.Save(file, func(yield func(time.Time, inspect.Update) bool) {
		if !yield(began, inspect.Update{Backend: backend}) {
			return
		}
		for i := range 3600 * rate {
			at := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
			l := &inspect.Lock{
				ID: inspect.ID{Backend: "zk", Path: fmt.Sprintf("/locks/job-%02d", i%30)}, Kind: inspect.KindMutex, Recipe: "curator",
				Confidence: recipe.Certain, State: inspect.StateContended, ReadAt: at,
			}
			for n := range 4 {
				c := inspect.Contender{Name: inspect.Untrusted(fmt.Sprintf("_c_7f3e0c51-0000-4000-8000-00000000%04x-lock-%010d", (i/30+n)%5000, i/30+n)), State: inspect.Waiting, Since: at.Add(-time.Second)}
				if n == 0 {
					c.State, c.HeldSince = inspect.Holding, at
					l.Holders = append(l.Holders, c)
				} else {
					l.Waiters = append(l.Waiters, c)
				}
			}
			if !yield(at, inspect.Update{Put: []*inspect.Lock{l}}) {
				return
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	return path
}

// What was read when its reader ends is no more than its context.
func TestAFilmEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "one.jsonl")
	if err := os.WriteFile(path, []byte(`{"recording":2,"at":"2026-01-01T00:00:00Z"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	played, err := recording.Open(time.Now, path, recording.Speed(0), recording.Kept())
	if err != nil {
		t.Fatal(err)
	}
	f := newFilm(played)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.readAhead(ctx, inspect.NewObserver(played.Now, played))
	if batch, err := f.Next(t.Context()); err != io.EOF || batch != nil {
		t.Errorf("%v, %v", batch, err)
	}
}
