package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/cli/record"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// unpacked are the files of a bundle by their names, packed ones unpacked.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	packed := must.Have(os.ReadFile(path))(t)
	files := make(map[string]string)
	r := tar.NewReader(strings.NewReader(gunzip(t, packed)))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		must.Succeed(t, err)
		data, err := io.ReadAll(r)
		if err != nil || h.Mode != 0o600 || filepath.Dir(h.Name) != strings.TrimSuffix(filepath.Base(path), ".tar.gz") {
			t.Errorf("%+v, %v", h, err)
		}
		name := filepath.Base(h.Name)
		if files[name] = string(data); strings.HasSuffix(name, ".gz") {
			files[name] = gunzip(t, data)
		}
	}
}

func gunzip(t *testing.T, packed []byte) string {
	t.Helper()
	r := must.Have(gzip.NewReader(bytes.NewReader(packed)))(t)
	text := must.Have(io.ReadAll(r))(t)
	return string(text)
}

// A bundle has all that is known of the lock, and a recording that can be played; our password is in none of it.
func TestBundle(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	server.Mini.RequireAuth(marked + `"<quoted>"`)
	for key, value := range map[string]string{"lock:a": "Y2NjY2NjY2NjY2NjY2NjYw==", "lock:b": "b"} {
		must.Succeed(t, server.Mini.Set(key, value))
	}
	env := map[string]string{"LOCKSCOPE_REDIS_PASSWORD": marked + `"<quoted>"`, "XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
	dir := t.TempDir()
	path := filepath.Join(dir, "ticket-7.tar.gz")
	got := runIn(t, t.Context(), env, "bundle", "redis:lock:a", "redis://"+server.Addr+"?match=lock:*", "--for", "2s", "--to", path)
	if got.code != 0 || got.stdout != path+"\n" {
		t.Fatalf("%+v", got)
	}
	files := unpacked(t, path)
	for name, text := range map[string]string{
		"README.md": "# no-ttl: `redis:lock:a`", "lock.json": `"redis:lock:a"`, "lock.mmd": "graph RL",
		"snapshot.json": `"redis:lock:b"`, "recording.jsonl.gz": `{"recording":2,`, "versions.json": `"lockscope": "` + app.Version,
	} {
		if !strings.Contains(files[name], text) || name != "README.md" && !strings.Contains(files["README.md"], "`"+name+"`") {
			t.Errorf("%s does not have %q, or is not listed: %.300s", name, text, files[name])
		}
		if strings.Contains(files[name], marked) {
			t.Errorf("%s has a password", name)
		}
	}
	parse(t, files["snapshot.json"])
	var v record.BundleVersions
	if err := json.Unmarshal([]byte(files["versions.json"]), &v); err != nil || len(v.Servers) != 1 || v.Servers[0].Addr != server.Addr {
		t.Errorf("%+v, %v", v, err)
	}
	recorded := filepath.Join(dir, "recorded.jsonl")
	must.Succeed(t, os.WriteFile(recorded, []byte(files["recording.jsonl.gz"]), 0o600))
	run(t, "show", "redis:lock:a", recorded).wants(t, 0, "no-ttl", "")
	again := filepath.Join(dir, "again")
	run(t, "bundle", "redis:lock:a", recorded, "--to", again).wants(t, 0, "", "")
	if entries, err := os.ReadDir(again); err != nil || len(entries) != len(files) {
		t.Errorf("a directory with %d files, %v", len(entries), err)
	}
	for want, args := range map[string][]string{
		"already exists": {"redis:lock:a", recorded, "--to", again},
		"no such lock":   {"redis:lock:none", recorded, "--to", filepath.Join(dir, "none")},
	} {
		if got := run(t, append([]string{"bundle"}, args...)...); got.code == 0 || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: %+v", want, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("a bundle of a lock that is not there")
	}
}
