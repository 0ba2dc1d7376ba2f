package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockscope/internal/servertest"
)

// What 0.1.0 left behind is read as it was: configuration, audit file, mutes; and the audit file goes on.
func TestFilesOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := map[string]string{"XDG_STATE_HOME": dir, "XDG_CONFIG_HOME": dir}
	for _, name := range []string{"audit.jsonl", "mutes.json", "config.yaml"} {
		text, err := os.ReadFile("testdata/0.1.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "lockscope"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "lockscope", name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	then := func(args ...string) outcome {
		var stdout, stderr output
		code := Main(t.Context(), args, Environment{
			Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: func(name string) string { return env[name] },
			Now: func() time.Time { return time.Date(2026, 11, 22, 17, 0, 0, 0, time.UTC) },
		})
		return outcome{code, stdout.String(), stderr.String()}
	}
	for _, tt := range []struct {
		args string
		says []string
	}{
		{"config check", []string{"dev", "prod-eu"}},
		{"audit", []string{"acquire  released   redis:lock:a", "ttl      done", "why see OPS-7", "release  done", "by ops@ops-1"}},
		{"audit verify", []string{"3 actions, each with its outcome"}},
		{"mute", []string{"redis:lock:stuck  no-ttl  until 2026-12-21T20:11:34Z  by ops: known"}},
	} {
		got := then(strings.Fields(tt.args)...)
		for _, text := range tt.says {
			if got.code != 0 || !strings.Contains(got.stdout, text) {
				t.Errorf("%s: %+v, want %q", tt.args, got, text)
			}
		}
	}
	server := servertest.StartEmbeddedRedis(t)
	if got := runIn(t, t.Context(), env, "acquire", "redis:lock:b", "redis://"+server.Addr, "--", "true"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := then("audit", "verify"); got.code != 0 || !strings.Contains(got.stdout, "4 actions, each with its outcome") {
		t.Errorf("with lines of both versions: %+v", got)
	}
	path := filepath.Join(dir, "lockscope", "audit.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "see OPS-7", "see OPS-8", 1) // a line without a sum: the chain begins behind it
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := then("audit", "verify"); got.code != 0 {
		t.Errorf("only the last line before the chain is named by it: %+v", got)
	}
	changed = strings.Replace(string(text), "redis:lock:b", "redis:lock:c", 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := then("audit", "verify"); got.code != exitNo || !strings.Contains(got.stdout, "line 7: it was changed since it was written") {
		t.Errorf("with a line changed: %+v", got)
	}
}
