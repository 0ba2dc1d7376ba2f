package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	load := func(text string) (Config, error) {
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		return Load(path)
	}
	c, err := load(Example)
	if e := c.Profiles["prod-eu"].Expect; len(e) != 2 || e[0].Hold != 2*time.Hour || e[1].Kind != "election" {
		t.Errorf("expectations of the example: %+v", e)
	}
	if err != nil || c.Default != "dev" || !c.Profiles["prod-eu"].ReadOnly || c.Names() != "dev, prod-eu" {
		t.Errorf("example: %+v, %v", c, err)
	}
	for _, bad := range []string{
		"default: x", "profiles: {a: {}}", "profiles: {a: {targets: [redis://x], environment: y}}", "nope: 1", "[", "owner_command: ssh {nope}",
		"theme: pink", "bell: loud",
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
