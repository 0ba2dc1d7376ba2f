package cli

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// In a locale without UTF-8 people read ASCII: names escaped as arguments accept them. Programs read the same as ever.
func TestALocaleWithoutUTF8(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	const name, escaped = "lock:größe", `lock:gr\u{f6}\u{df}e`
	must.Succeed(t, server.Mini.Set(name, "y"))
	target := "redis://" + server.Addr
	in := func(locale string, args ...string) outcome {
		env := map[string]string{"LC_ALL": locale, "XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
		return runIn(t, t.Context(), env, args...)
	}
	lines := [][]string{
		{"ls", target},
		{"show", "redis:" + escaped, target},
		{"doctor", target},
		{"doctor", "--access", target},
		{"ls", "--help"},
		{"show", "--help"},
		{"help", "ask"},
		{"demo", "--headless", "--for", "1s"},
		{"ls", target, "--sort", "grants"},
	}
	for _, word := range listedWords(t) {
		lines = append(lines, []string{"explain", word})
	}
	for i, args := range lines {
		got := in("C", args...)
		said := strings.ReplaceAll(got.stdout+got.stderr, escaped, "")
		if strings.ContainsFunc(said, func(r rune) bool { return r > unicode.MaxASCII }) || strings.Contains(said, `\u{`) {
			t.Errorf("%v: a sign that is not ASCII, or one of ours escaped, in %s", args, said)
		}
		if i < 2 && !strings.Contains(got.stdout, escaped) {
			t.Errorf("%v: no %s in %s", args, escaped, got.stdout)
		}
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
	path := must.Have(program())(t)
	server := servertest.StartEmbeddedRedis(t)
	cmd := exec.Command("env", "TERM=dumb", path, "redis://"+server.Addr)
	r := startInTerminal(t, 80, 24, cmd)
	r.awaitText("TERM=dumb", "--linear")
	if code := r.exit(); code != app.ExitUsage {
		t.Errorf("exit code %d", code)
	}
}
