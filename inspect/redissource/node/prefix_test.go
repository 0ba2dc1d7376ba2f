package node

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/text"
)

func TestPrefixesDoNotOverlap(t *testing.T) {
	for _, c := range []struct {
		patterns, want string
	}{
		{"lock:*", "lock:"},
		{"lock:* lock:a*", "lock:"},
		{"lock:a* lock:* job", "job lock:"},
		{"*lock* lock:*", ""},
		{`a\*b* a[xy] a?`, "a"},
		{`a\*b*`, "a*b"},
		{`end\`, `end\`},
		{"one two one", "one two"},
	} {
		if got := strings.Join(Prefixes(strings.Fields(c.patterns)), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.patterns, got, c.want)
		}
	}
	if got := Prefixes([]string{"*"}); !slices.Equal(got, []string{""}) {
		t.Errorf("every key: %q", got)
	}
}

// FuzzPrefixes: whatever a pattern matches begins with a prefix.
func FuzzPrefixes(f *testing.F) {
	f.Add("lock:*", "lock:a")
	f.Add(`l\ock[`, "lock[")
	f.Fuzz(func(t *testing.T, pattern, key string) {
		if text.Glob(pattern, key) && !strings.HasPrefix(key, Prefixes([]string{pattern})[0]) {
			t.Errorf("%q matches %q, which does not begin with %q", pattern, key, Prefixes([]string{pattern}))
		}
	})
}
