package recording

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockscope/inspect"
)

// What was kept, saved, plays as what was seen: at its end, and in between.
func TestTheSavedPastPlays(t *testing.T) {
	at := now
	source := runs()[0].(script)
	o := inspect.NewObserver(func() time.Time { return at }, source)
	past := inspect.NewPast(0, time.Millisecond, 1<<30)
	feed := o.Subscribe()
	err := o.Play(func(emit func(inspect.Update)) error {
		for _, u := range source {
			at = at.Add(time.Second)
			emit(u)
			if err := o.Play(func(func(inspect.Update)) error { return nil }); err != nil { // publishes
				return err
			}
			s, err := feed.Next(t.Context())
			if err != nil {
				return err
			}
			past.Add(s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := Save(&file, Updates(past)); err != nil {
		t.Fatal(err)
	}
	r := Read(bytes.NewReader(file.Bytes()), Speed(0), Kept())
	again := inspect.NewObserver(r.Now, r)
	if err := again.Play(r.All); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sortedBackends(t, text(t, o.Snapshot())), sortedBackends(t, text(t, again.Snapshot()))); diff != "" {
		t.Error(diff)
	}
	if err := Save(failing{}, Updates(past)); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

var errFull = errors.New("disk full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }
