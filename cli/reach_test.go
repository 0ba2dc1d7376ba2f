package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// advised are the words of the command at the end of a text, in brackets or not, as a shell reads them.
func advised(t *testing.T, text string) []string {
	t.Helper()
	_, command, ok := strings.Cut(text, "lockscope ")
	if !ok {
		t.Fatalf("no command in %q", text)
	}
	return wordsOf(t, strings.TrimSuffix(command, ")"))
}

// A command in an advice works when it is pasted unchanged.
func TestAnAdvisedCommandRunsAsPrinted(t *testing.T) {
	t.Parallel()
	const hostile = "lockscope:Zm9vYmFyYmF6cXV4MTIzNA:v; w" // surely a lock's, with a label that a shell would run
	server, other := servertest.StartEmbeddedRedis(t), servertest.StartEmbeddedRedis(t)
	for _, s := range []*servertest.Redis{server, other} {
		s.Mini.Set("lock:a b's", hostile)
	}
	home := t.TempDir()
	config := filepath.Join(home, "my config.yaml")
	text := "default: two\nprofiles:\n  two:\n    targets: [redis://" + other.Addr + ", redis://" + server.Addr + "]\n  one: {targets: ['redis://nowhere.invalid']}\n"
	for _, path := range []string{config, filepath.Join(home, "lockscope", "config.yaml")} {
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	}
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": home}
	target := "redis://" + server.Addr
	for _, tt := range []struct {
		args []string
		lock string
		want string // of the command, between the lock and --owner
	}{
		{[]string{target}, "redis:lock:a b's", target},
		{[]string{target + "?name=cache&match=lock:*"}, "cache:lock:a b's", target + "?name=cache"},
		{[]string{"redis://" + other.Addr, target + "/0?match=lock*"}, "redis2:lock:a b's", target + "?name=redis2"},
		{nil, "redis2:lock:a b's", "-p two"},
		{[]string{"-p", "two", "--config", config}, "redis:lock:a b's", "-p two --config " + config},
		{[]string{"-p", "one", target}, "redis:lock:a b's", target + " -p one"},
	} {
		got := runIn(t, t.Context(), env, append([]string{"doctor", "-o", "json"}, tt.args...)...)
		l := parse(t, got.stdout).lock(t, tt.lock)
		if len(l.Findings) == 0 || l.Findings[0].Rule != "no-ttl" {
			t.Fatalf("%v: %+v", tt.args, got)
		}
		words := advised(t, commandOf(l.Findings[0].Steps))
		if got, want := strings.Join(words, " "), "ttl "+tt.lock+" "+tt.want+" --owner "+hostile+" --set 10m"; got != want {
			t.Errorf("%v: %q, want %q", tt.args, got, want)
		}
		runIn(t, t.Context(), env, append(words, "--dry-run")...).wants(t, 0, "", "")
		show := runIn(t, t.Context(), env, append([]string{"show", tt.lock}, tt.args...)...)
		if !strings.Contains(show.stdout, "\n         lockscope ttl '") || !strings.Contains(show.stdout, "--owner '"+hostile+"' --set 10m\n") {
			t.Errorf("show: %+v", show)
		}
	}
}

// A recording has no servers that a command could be sent to.
func TestAnAdviceOnARecordingNamesNoServers(t *testing.T) {
	t.Parallel()
	got := runIn(t, context.Background(), nil, "doctor", "../screenshots/tour.jsonl.gz")
	if !strings.Contains(got.stdout, "lockscope release zk:") || strings.Contains(got.stdout, " zk://") {
		t.Errorf("%+v", got)
	}
}

// A contender's name is text from a server also where it looks like an option: a shell runs nothing that is in it.
func TestAnAdvisedOwnerIsOneWordWhateverItIs(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	target := "zk://" + server.Addr
	_, lines := started(t, "acquire", "zk:/l", target, "--recipe", "sequential", "--prefix=-$(echo x);lock-", "--label", "worker")
	awaitLine(t, lines, "holding")
	got := run(t, "release", "zk:/l", target, "--owner", "worker", "--dry-run")
	words := advised(t, strings.TrimSuffix(got.stderr, "\n"))
	if want := []string{"release", "zk:/l", target, "--owner", "-$(echo x);lock-0000000000", "--dry-run"}; !slices.Equal(words, want) {
		t.Fatalf("%+v: %q, want %q", got, words, want)
	}
	run(t, words...).wants(t, 0, "owner   worker (-$(echo x);lock-0000000000)", "")
}
