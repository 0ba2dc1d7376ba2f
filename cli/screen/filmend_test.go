package screen

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recording"
	"github.com/lockscope/lockscope/internal/must"
)

// A film ends with its context, even while it is being read.
func TestAFilmEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "one.jsonl")
	must.Succeed(t, os.WriteFile(path, []byte(`{"recording":2,"at":"2026-01-01T00:00:00Z"}`+"\n"), 0o600))
	played := must.Have(recording.Open(time.Now, path, recording.Speed(0), recording.Kept()))(t)
	f := newFilm(played)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.readAhead(ctx, inspect.NewObserver(played.Now, played))
	if batch, err := f.Next(t.Context()); err != io.EOF || batch != nil {
		t.Errorf("%v, %v", batch, err)
	}
}
