package cli

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

// In a locale without UTF-8 what people read is ASCII but for names from servers, what programs read is not touched, and the columns
// of a table stand as in any other locale.
func TestALocaleWithoutUTF8(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	const name = "lock:größe"
	if err := server.Mini.Set(name, "y"); err != nil {
		t.Fatal(err)
	}
	target := "redis://" + server.Addr
	in := func(locale string, args ...string) outcome {
		env := map[string]string{"LC_ALL": locale, "XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
		return runIn(t, t.Context(), env, args...)
	}
	signs := func(o outcome) string {
		return strings.Map(func(r rune) rune {
			if r > unicode.MaxASCII {
				return r
			}
			return -1
		}, strings.ReplaceAll(o.stdout+o.stderr, name, ""))
	}
	lines := [][]string{
		{"ls", target},
		{"show", "redis:" + name, target},
		{"doctor", target},
		{"doctor", "--access", target},
		{"ls", "--help"},
		{"show", "--help"},
		{"help", "ask"},
		{"demo", "--headless", "--for", "1s"},
		{"ls", target, "--sort", "grants"},
	}
	for _, word := range explainedWords() {
		lines = append(lines, []string{"explain", word})
	}
	for _, args := range lines {
		if got := in("C", args...); signs(got) != "" {
			t.Errorf("%v: %q in %s", args, signs(got), got.stdout+got.stderr)
		}
	}
	list, ours := in("C", "ls", target), in("C.UTF-8", "ls", target)
	if !strings.Contains(list.stdout, name) || list.stdout == ours.stdout {
		t.Errorf("%s\nin UTF-8:\n%s", list.stdout, ours.stdout)
	}
	heads := func(o outcome) string { line, _, _ := strings.Cut(o.stdout, "\n"); return line }
	if heads(list) != heads(ours) {
		t.Errorf("the columns differ:\n%s%s", list.stdout, ours.stdout)
	}
	for _, args := range [][]string{{"show", "redis:" + name, target, "-o", "mermaid"}, {"man"}, {"config", "example"}, {"completion", "bash"}} {
		now := in("C.UTF-8", args...)
		if got := in("C", args...); got.code != 0 || got.stdout != now.stdout {
			t.Errorf("%v differs:\n%s\n%s", args, got.stdout, now.stdout)
		}
	}
	if json := in("C", "show", "redis:"+name, target, "-o", "json"); !strings.Contains(json.stdout, name) {
		t.Errorf("%s", json.stdout)
	}
}

// A sign of ours in a name from a server, or in one that was given, is not ours.
func TestALocaleWithoutUTF8KeepsNames(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	const name, owner, mistyped = "lock:a→b…", "worker·1", "lock≤"
	if err := server.Mini.Set(name, owner); err != nil {
		t.Fatal(err)
	}
	target := "redis://" + server.Addr
	for _, args := range [][]string{{"ls", target}, {"show", "redis:" + name, target}, {"doctor", target}} {
		env := map[string]string{"LC_ALL": "C", "XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
		got := runIn(t, t.Context(), env, args...)
		if args[0] != "doctor" && (!strings.Contains(got.stdout, name) || !strings.Contains(got.stdout, owner)) {
			t.Errorf("%v: %s", args, got.stdout)
		}
		if strings.ContainsFunc(strings.NewReplacer(name, "", owner, "").Replace(got.stdout+got.stderr), func(r rune) bool { return r > unicode.MaxASCII }) {
			t.Errorf("%v: signs of ours in\n%s%s", args, got.stdout, got.stderr)
		}
	}
	env := map[string]string{"LC_ALL": "C", "XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
	if got := runIn(t, t.Context(), env, "show", mistyped, target); !strings.Contains(got.stderr, mistyped) {
		t.Errorf("%s", got.stderr)
	}
}

// COMMAND writes its own bytes, whatever the locale.
func TestACommandsOutputIsNotTranslated(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	env := map[string]string{"LC_ALL": "C", "XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
	got := runIn(t, t.Context(), env, "acquire", "redis:lock:a", "redis://"+server.Addr, "--", "echo", "a → b …")
	if got.code != 0 || !strings.Contains(got.stdout, "a → b …") {
		t.Errorf("%+v", got)
	}
}

// A terminal that cannot redraw is refused, with what to use there.
func TestADumbTerminalIsToldWhatToUse(t *testing.T) {
	t.Parallel()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	server := servertest.StartEmbeddedRedis(t)
	cmd := exec.Command("env", "TERM=dumb", path, "redis://"+server.Addr)
	r := startInTerminal(t, 80, 24, cmd)
	r.awaitText("TERM=dumb", "--linear")
	if code := r.exit(); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
}

// What --linear and diff print has names as the servers have them, in whatever line they stand.
func TestALocaleWithoutUTF8KeepsNamesInLinesAndDifferences(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	const name, owner, late, mistyped = "lock:a→b…", "worker·1", "lock:late≥", "redis:lock:≤"
	if err := server.Mini.Set(name, owner); err != nil {
		t.Fatal(err)
	}
	target, dir := "redis://"+server.Addr, t.TempDir()
	recordings := [2]string{filepath.Join(dir, "before"), filepath.Join(dir, "after")}
	recordUntil(t, home(t), name, recordings[0], target)
	c := converseIn(t, t.Context(), "C", target)
	c.await("is watching")
	c.say("list", "show 1", "show "+mistyped, "tell all")
	c.await("telling all")
	if err := server.Mini.Set(late, owner); err != nil {
		t.Fatal(err)
	}
	c.await(late + ": acquired")
	c.say("events", "quit")
	c.end()
	recordUntil(t, home(t), late, recordings[1], target)
	compared := runIn(t, t.Context(), map[string]string{"LC_ALL": "C"}, "diff", recordings[0], recordings[1])
	for where, tt := range map[string]struct {
		text  string
		names []string
	}{
		"linear": {c.out.String(), []string{name, owner, late, mistyped}}, "diff": {compared.stdout + compared.stderr, []string{late, owner}},
	} {
		var pairs []string
		for _, n := range tt.names {
			if !strings.Contains(tt.text, n) {
				t.Errorf("%s: no %s in\n%s", where, n, tt.text)
			}
			pairs = append(pairs, n, "")
		}
		if strings.ContainsFunc(strings.NewReplacer(pairs...).Replace(tt.text), func(r rune) bool { return r > unicode.MaxASCII }) {
			t.Errorf("%s: signs of ours in\n%s", where, tt.text)
		}
	}
}

// pieces are kept apart: what two calls write may be cut in between.
type pieces []string

func (p *pieces) Write(text []byte) (int, error) {
	*p = append(*p, string(text))
	return len(text), nil
}

// A line is written in one piece however long it is, so that no name in it is cut in two where names are kept.
func TestALineIsWrittenInOnePiece(t *testing.T) {
	var written pieces
	b := bufio.NewWriterSize(&written, 64)
	for _, n := range []int{40, 40, 63, 64, 65, 200, 10} {
		if err := writeLine(b, strings.Repeat("→", n/3)+strings.Repeat("x", n%3)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, piece := range written {
		lines += strings.Count(piece, "\n")
		if !strings.HasSuffix(piece, "\n") {
			t.Errorf("a line is cut: %q", piece)
		}
	}
	if lines != 7 {
		t.Errorf("%d lines in %q", lines, written)
	}
}

// An event with a name that is longer than the buffer of watch is whole.
func TestALocaleWithoutUTF8KeepsALongNameOfAnEvent(t *testing.T) {
	var stdout strings.Builder
	path := strings.Repeat("x", 4090) + "→→→→→→" // across the end of a buffer of 4096
	kept := &keptNames{}
	w := &watch{app: &app{kept: kept, Environment: Environment{Stdout: asciiWriter{&stdout, kept}}}}
	w.lines = bufio.NewWriter(w.Stdout)
	appeared := inspect.Event{Kind: inspect.EventAppeared, Lock: inspect.ID{Backend: "zk", Path: path}}
	short := inspect.Event{Kind: inspect.EventAppeared, Lock: inspect.ID{Backend: "zk", Path: "/a"}}
	if err := w.print(&inspect.Snapshot{Events: []inspect.Event{short, appeared, short, appeared, appeared}}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(stdout.String(), path); n != 3 {
		t.Errorf("whole in %d of 3 lines: …%s", n, stdout.String()[4000:])
	}
}
