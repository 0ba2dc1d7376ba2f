package screen

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

func TestSavedFilesAreNewAndPrivate(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	at := time.Date(2026, 5, 4, 14, 0, 0, 0, time.FixedZone("CEST", 2*3600))
	a := &app.App{Environment: app.Environment{Now: func() time.Time { return at }}}
	path := must.Have((saver{a}).text(t.Context(), "zk:/locks/../\x1b[2J"+strings.Repeat("é", 300), ".md", "text"))(t)
	if got, _ := filepath.EvalSymlinks(filepath.Dir(path)); filepath.Base(path) != "lockscope-zk-locks-2J-20260504T120000.000Z.md" || got != resolved(t, dir) {
		t.Errorf("written to %s", path)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if text, _ := os.ReadFile(path); string(text) != "text" {
		t.Errorf("%q", text)
	}
	// An existing file is kept. The temporary directory is tried next, and then the save fails.
	t.Setenv("TMPDIR", t.TempDir())
	again, err := (saver{a}).text(t.Context(), "zk:/locks/2J", ".md", "more")
	if err != nil || filepath.Base(again) != filepath.Base(path) || filepath.Dir(again) == filepath.Dir(path) {
		t.Errorf("%s, %v", again, err)
	}
	if _, err := (saver{a}).text(t.Context(), "zk:/locks/2J", ".md", "more"); !errors.Is(err, os.ErrExist) {
		t.Errorf("a third file: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (saver{a}).text(ended, "zk:/other", ".md", "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: %v", err)
	}
}

func resolved(t *testing.T, dir string) string {
	t.Helper()
	return must.Have(filepath.EvalSymlinks(dir))(t)
}

func TestTerminalsWithoutClipboardAreKnown(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		none bool
	}{
		{map[string]string{}, true},
		{map[string]string{"TERM": "linux"}, true},
		{map[string]string{"TERM": "xterm-256color"}, false},
		{map[string]string{"TERM": "screen-256color"}, true},
		{map[string]string{"TERM": "screen-256color", "TMUX": "/tmp/x"}, false},
		{map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, true},
	} {
		if why := noClipboard(func(name string) string { return test.env[name] }); (why != "") != test.none {
			t.Errorf("%v: %q", test.env, why)
		}
	}
	in := func(tmux string) string { return clipboard(func(string) string { return tmux }) }
	must.Contain(t, in("/tmp/x"), "set-clipboard on")
	must.Equal(t, in(""), "", "outside of tmux")
}

// The saved past is a recording that can be opened. An incomplete file is removed.
func TestSavedPastIsARecording(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("TMPDIR", dir)
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	a := &app.App{Environment: app.Environment{Now: func() time.Time { return at }}}
	past := inspect.NewPast(0, time.Second, 1<<20)
	id := inspect.ID{Backend: "zk", Path: "/locks/a"}
	b := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, Mode: inspect.ModeWatch, FirstPass: true}
	past.Add(inspect.NewSnapshot(at, []*inspect.Backend{b}, nil))
	past.Add(inspect.NewSnapshot(at.Add(time.Minute), []*inspect.Backend{b}, []*inspect.Lock{inspect.FreeDirectory(id, nil, at)}))
	path := must.Have((saver{a}).past(t.Context(), past))(t)
	if s, err := a.LookAtRecording(path); err != nil || s.Lock(id) == nil || !s.TakenAt.Equal(at.Add(time.Minute)) {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	at = at.Add(time.Second)
	if _, err := (saver{a}).past(ended, past); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files", len(files))
	}
}
