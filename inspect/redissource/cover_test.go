package redissource

import (
	"strings"
	"testing"

	"lockscope/inspect/recipe"
	"lockscope/internal/text"
)

func TestCoverIsOnePatternForSeveral(t *testing.T) {
	for _, c := range []struct{ patterns, want string }{
		{"lock:*", "lock:*"},
		{"*lock*", "*lock*"},
		{"lock:* mutex:*", `[lm][ou][ct][ke][\:x]*`},
		{"lock:* l*", "l*"},
		{"app:lock:* app:job", `app\:[jl]o[bc]*`},
		{"*lock* *mutex*", "*[lm][ou][ct]*"},
		{"*lock* job-*-*", `*o[cb][k\-]*`},
		{"*lock* *a*", ""},
		{"*lock* *", ""},
		{`*a\*b* *c\]-*`, `*[ac][\*\]][b\-]*`},
		{"*lo[ck]x* *lo?k*", "*lo*"},
	} {
		if got := cover(strings.Fields(c.patterns)); got != c.want {
			t.Errorf("%s: %s, not %s", c.patterns, got, c.want)
		}
	}
	if all := cover(recipe.RedisPatterns()); all == "" || text.Glob(all, "session:0000123") {
		t.Errorf("the default patterns: %s", all)
	}
}

func FuzzCover(f *testing.F) {
	f.Add("*lock*", "mutex:*", "a:mutex:b")
	f.Add(`*a\*b*`, "*[x-z^]]-*", "y]-")
	f.Add("[^a", `\`, `\`)
	f.Fuzz(func(t *testing.T, a, b, key string) {
		patterns := []string{a, b}
		if all := cover(patterns); (text.Glob(a, key) || text.Glob(b, key)) && all != "" && !text.Glob(all, key) {
			t.Errorf("%q and %q: %q does not match %q", a, b, all, key)
		}
	})
}
