package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
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
	r := Read(time.Now, bytes.NewReader(file.Bytes()), Speed(0), Kept())
	again := inspect.NewObserver(r.Now, r)
	if err := again.Play(r.All); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sortedBackends(t, document(t, o.Snapshot())), sortedBackends(t, document(t, again.Snapshot()))); diff != "" {
		t.Error(diff)
	}
	if err := Save(fullDisk{}, Updates(past)); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

func document(t *testing.T, s *inspect.Snapshot) string {
	t.Helper()
	text, err := json.Marshal(s.JSON())
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), `"watch_confirmed":false`, `"watch_confirmed":null`) // what a table lacked is not kept
}

var errFull = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
