package recording

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// A packed recording is flushed after each line, so a recording that a crash cuts off plays up to its
// last line.
func TestCrashedPackedRecordingStillPlays(t *testing.T) {
	text := record(t, runs()...)
	all := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	all[len(all)-1] = append(all[len(all)-1], '\n')
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
		r, err := Open(time.Now, path, Speed(0), Kept())
		if err == nil {
			err = r.All(func(inspect.Update) { played++ })
		}
		must.Succeed(t, err)
		if span, err = finderOf(t, path).End(t.Context()); err != nil {
			t.Error(err)
		}
		return played, r, span
	}
	plainly := func(lines int) (int, time.Time) {
		n, _, span := look(bytes.Join(all[:lines], nil))
		return n, span
	}
	for i, end := range ends {
		want, until := plainly(i + 1)
		if n, r, span := look(packed.Bytes()[:end]); n != want || !r.Cut() || !span.Equal(until) {
			t.Errorf("cut after line %d: %d updates until %v, cut %v, want %d until %v", i+1, n, span, r.Cut(), want, until)
		}
	}
	want, until := plainly(len(all))
	if n, r, span := look(packed.Bytes()); n != want || r.Cut() || !span.Equal(until) {
		t.Errorf("whole: %d updates until %v, cut %v, want %d until %v", n, span, r.Cut(), want, until)
	}
	path := filepath.Join(t.TempDir(), "x.zst")
	must.Succeed(t, os.WriteFile(path, []byte(zstdMagic+"\xff\xff\xff\xff\xff\xff\xff"), 0o600))
	_, err := Open(time.Now, path)
	must.Be(t, err, ErrFormat, "invalid data")
}
