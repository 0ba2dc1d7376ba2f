package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// Any configuration either loads and is usable, or fails with a one-line reason.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(Example))
	for _, text := range []string{"", "{", "default: a", "profiles: {a: {targets: [redis://x, {url: zk://y, username: u, password: p}]}}", "a: &a [*a]", "x: !!binary aGk=", "columns: !00000000000\n  0: 0\n080:"} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "config.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		must.Succeed(t, os.WriteFile(path, text, 0o600))
		c, err := Load(path)
		if err != nil {
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v", err)
			}
			return
		}
		for name, p := range c.Profiles {
			if targets, err := p.Parsed(); err != nil || len(targets) == 0 {
				t.Errorf("profile %q passed the check, but has %v, %v", name, targets, err)
			}
		}
	})
}
