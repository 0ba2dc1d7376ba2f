package node

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/text"
)

// SCAN uses a small count while other clients may be waiting, unless one is configured.
func TestScanCountDependsOnPauses(t *testing.T) {
	for name, tt := range map[string]struct {
		count int
		rests bool
		after time.Duration // a pause
		want  int
	}{
		"while watching":                  {want: 50},
		"after a long pause":              {after: 200 * time.Millisecond, want: 1000},
		"between long pauses":             {rests: true, want: 1000},
		"configured":                      {count: 1, want: 1},
		"configured, between long pauses": {count: 7, rests: true, want: 7},
	} {
		s := NewScanner(nil, nil, Matcher{}, ScanLimits{Count: tt.count}, func() bool { return tt.rests })
		s.rested = tt.after
		if got := s.count(); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// After a pass of more than 20 SCANs, a SCAN covers more keys.
func TestLongPassRaisesScanCount(t *testing.T) {
	for scans, want := range map[int]int{20: fewScanned, 21: MostScanned} {
		fake, asked := servertest.StartEmbeddedRedis(t), 0
		fake.Mini.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
			scan := cmd == "SCAN"
			if scan {
				asked++
				c.WriteLen(2)
				c.WriteInt(scans - asked) // the cursor
				c.WriteLen(0)
			}
			return scan
		})
		s := NewScanner(testMaster(t, at(fake.Addr)), nil, Matcher{}, ScanLimits{Duty: 1}, nil)
		s.calls = 7 // in an earlier pass
		must.Have(s.Pass(t.Context(), nil))(t)
		must.Equal(t, s.count(), want, "keys of one SCAN, after a pass of", scans)
	}
}

// A pause depends on the server's quickest recent answer, and has a maximum.
func TestScanPauseFollowsQuickestAnswer(t *testing.T) {
	const ms = time.Millisecond
	late := []time.Duration{700 * ms, 800 * ms, 900 * ms, 700 * ms, 1 * ms, 900 * ms, 800 * ms}
	for name, tt := range map[string]struct {
		limits ScanLimits
		took   []time.Duration
		passes int
		rests  bool
		want   time.Duration
	}{
		"a server nearby":                {took: []time.Duration{1 * ms}, want: 2090 * time.Microsecond},
		"a reader short of CPU":          {took: late, want: 2090 * time.Microsecond},
		"a server that needs 10 ms":      {took: []time.Duration{11 * ms, 700 * ms}, want: 190 * ms},
		"a command":                      {limits: ScanLimits{Duty: 0.25}, took: []time.Duration{11 * ms}, want: 30 * ms},
		"a very slow server, first pass": {took: []time.Duration{800 * ms}, want: time.Second},
		"a very slow server, later pass": {took: []time.Duration{800 * ms}, passes: 1, want: 5 * time.Second},
		"a very slow server that pushes": {took: []time.Duration{800 * ms}, passes: 1, rests: true, want: 5 * time.Second},
		"after the first pass":           {took: []time.Duration{1 * ms}, passes: 1, want: 100 * ms},
		"while the master pushes":        {took: []time.Duration{1 * ms}, passes: 1, rests: true, want: 2500 * ms},
		"a very slow server, unlimited":  {limits: ScanLimits{Unlimited: true}, took: []time.Duration{800 * ms}},
	} {
		m := &Master{}
		m.took(2 * ms)
		m.took(1 * ms)
		m.took(3 * ms)
		if tt.limits.Duty == 0 {
			tt.limits.Duty = 0.05
		}
		s := NewScanner(m, nil, Matcher{}, tt.limits, func() bool { return tt.rests })
		s.passes = tt.passes
		var got time.Duration
		for _, took := range tt.took {
			got = s.pause(took)
		}
		if (got - tt.want).Abs() > time.Microsecond {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// The way to a server is the time of its fastest answer. An empty pipeline gets none.
func TestEmptyPipelineMeasuresNothing(t *testing.T) {
	m := testMaster(t, at(servertest.StartEmbeddedRedis(t).Addr))
	must.Be(t, m.pipelined(t.Context(), func(context.Context, redis.Pipeliner) {}), nil)
	must.Equal(t, m.way(), 0, "the way after an empty pipeline")
	must.Be(t, m.pipelined(t.Context(), func(ctx context.Context, p redis.Pipeliner) { p.Ping(ctx) }), nil)
	must.True(t, m.way() > 0, "the way is unknown after an answer")
}

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
		must.Equal(t, strings.Join(Prefixes(strings.Fields(c.patterns)), " "), c.want, c.patterns)
	}
	must.Same(t, Prefixes([]string{"*"}), []string{""}, "every key")
}

// FuzzPrefixes checks that every match of a pattern begins with its prefix.
func FuzzPrefixes(f *testing.F) {
	f.Add("lock:*", "lock:a")
	f.Add(`l\ock[`, "lock[")
	f.Fuzz(func(t *testing.T, pattern, key string) {
		if text.Glob(pattern, key) && !strings.HasPrefix(key, Prefixes([]string{pattern})[0]) {
			t.Errorf("%q matches %q, which does not begin with %q", pattern, key, Prefixes([]string{pattern}))
		}
	})
}
