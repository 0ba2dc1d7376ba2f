package cli

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"lockscope/internal/servertest"
)

// In a locale without UTF-8 what people read is ASCII but for names from servers, what programs read is not touched, and the columns
// of a table stand as in any other locale.
func TestALocaleWithoutUTF8(t *testing.T) {
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
