package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func none(string) string { return "" }

func TestSecretsComeFromFileOrCommandUnlessTheEnvironmentHasThem(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("from file\nsecond line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		profile Profile
		getenv  func(string) string
		want    string
	}{
		{Profile{PasswordFile: file}, none, "from file"},
		{Profile{PasswordCommand: []string{"printf", "from command\\r\\n"}}, none, "from command"},
		{Profile{PasswordFile: file}, func(string) string { return "from environment" }, "from environment"},
		{Profile{}, none, ""},
	} {
		s, err := tt.profile.Secrets(t.Context(), tt.getenv)
		if err != nil || s.RedisPassword != tt.want {
			t.Errorf("%+v: %q, %v, want %q", tt.profile, s.RedisPassword, err, tt.want)
		}
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (Profile{PasswordFile: file}).Secrets(t.Context(), none); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others may read: %v", err)
	}
	for _, p := range []Profile{{PasswordFile: file + "x"}, {PasswordCommand: []string{"false"}}, {PasswordCommand: []string{"no-such-command"}}} {
		if _, err := p.Secrets(t.Context(), none); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	load := func(text string) (Config, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(path)
	}
	c, err := load(Example)
	if e := c.Profiles["prod-eu"].Expect; len(e) != 2 || e[0].Hold != 2*time.Hour || e[1].Kind != "election" {
		t.Errorf("what the example expects: %+v", e)
	}
	if err != nil || c.Default != "dev" || !c.Profiles["prod-eu"].ReadOnly || c.Names() != "dev, prod-eu" {
		t.Errorf("example: %+v, %v", c, err)
	}
	for _, bad := range []string{
		"default: x", "profiles: {a: {}}", "profiles: {a: {targets: [redis://x], environment: y}}", "nope: 1", "[", "owner_command: ssh {nope}",
		"profiles: {a: {targets: [redis://x], password_file: f, password_command: [c]}}", "theme: pink",
		"expect: [{hold: 1h}]", "expect: [{match: a}]", "expect: [{match: a, hold: -1s}]", "profiles: {a: {targets: [redis://x], expect: [{match: a, kind: mutex}]}}",
	} {
		if _, err := load(bad); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := Load(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}
