package act

import (
	"errors"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// A request whose connection broke may be run later than the look that shows nothing done, until its time
// limit: what depends on it is unknown, also where a proxy answers in the server's place.
func TestAScriptThatMayRunLaterIsUnknown(t *testing.T) {
	t.Parallel()
	deletes, refuses := faulty{has: true}, faulty{has: true, fails: saidNo("NOPERM User ops has no permissions to run the 'evalsha' command")}
	late, proxied := faulty{has: true, fails: errLostAnswer, slow: true}, faulty{has: true, fails: saidNo("upstream failure"), slow: true}
	unsent := faulty{has: true, fails: errRefusedDial}
	for name, tt := range map[string]struct {
		masters       []faulty
		done, unknown bool
	}{
		"one":                              {masters: []faulty{late}, unknown: true},
		"one behind a proxy":               {masters: []faulty{proxied}, unknown: true},
		"one that was not sent to":         {masters: []faulty{unsent}},
		"one of three":                     {masters: []faulty{deletes, deletes, late}, done: true},
		"two of three":                     {masters: []faulty{deletes, late, late}, unknown: true},
		"the one on which it depends":      {masters: []faulty{deletes, late, refuses}, unknown: true},
		"one, where a quorum has it still": {masters: []faulty{late, refuses, refuses}},
		"a value on one of three":          {masters: []faulty{late, {}, {}}, unknown: true},
	} {
		for _, ttl := range []time.Duration{0, time.Minute} {
			t.Run(name+" "+ttl.String(), func(t *testing.T) {
				releaser := faultyMasters(t, tt.masters)
				for i := range tt.masters {
					for _, script := range []string{"string", "expire"} {
						must.Succeed(t, tt.masters[i].plain.ScriptLoad(t.Context(), scriptText(script)).Err())
					}
				}
				p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Owner: "v", Waiter: true, TTL: ttl})
				result, err := releaser.Execute(t.Context(), p, "--yes")
				done := result.Released || result.Set
				if done != tt.done || result.Unknown != tt.unknown || (result.Reason == NoQuorum) != (!tt.done && !tt.unknown) || tt.unknown && (!errors.Is(err, ErrUnreachable) || result.Detail == "") {
					t.Errorf("%+v, %v", result, err)
				}
				for i := range tt.masters {
					if m := &tt.masters[i]; m.later != nil {
						m.later()
						if ends := m.plain.PTTL(t.Context(), "lock:a").Val(); ends == -1 {
							t.Errorf("master %d did not run it", i)
						}
					}
				}
			})
		}
	}
}
