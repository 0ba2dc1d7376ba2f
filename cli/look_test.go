package cli

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/servertest"
)

// Every scene of the demo shows what its caption says.
func TestDemoScenesMatchTheirCaptions(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	var missing []string
	defer func() {
		if t.Failed() {
			t.Logf("not as captioned: %q", missing)
		}
	}()
	untilLong(t, 4*time.Second, "what the captions say", func(span string) bool {
		got := run(t, "demo", "--headless", "--for", span, "-o", "json")
		if got.code != 0 {
			t.Fatalf("%+v", got)
		}
		s := parse(t, got.stdout)
		if i := slices.IndexFunc(s.Locks, func(l lock) bool { return l.ID == "zk:/locks/printers" }); i >= 0 && len(s.Locks[i].Holders) > 3 {
			t.Errorf("%d hold three permits", len(s.Locks[i].Holders))
		}
		missing = notAsCaptioned(s)
		return len(missing) == 0
	})
}

// notAsCaptioned lists what the captions say and a snapshot of all scenes lacks.
func notAsCaptioned(s snapshot) (missing []string) {
	if len(s.Backends) != 2 {
		missing = append(missing, fmt.Sprintf("%d backends", len(s.Backends)))
	}
	for _, want := range []struct{ id, kind, recipe, rule string }{
		{"zk:/locks/orders", "mutex", "curator", ""},
		{"zk:/locks/reports", "mutex", "go-zookeeper", ""},
		{"zk:/locks/catalog", "rw", "kazoo", ""},
		{"zk:/locks/printers", "semaphore", "kazoo", ""},
		{"zk:/locks/payments", "mutex", "curator", ""},
		{"zk:/locks/invoices", "mutex", "kazoo", "persistent-contender"},
		{"zk:/locks/accounts", "mutex", "curator", "deadlock"},
		{"zk:/locks/ledger", "mutex", "curator", "deadlock"},
		{"redis:lock:cart:42", "redlock", "lockscope", ""},
		{"redis:lock:seats", "redlock", "redsync", "split-quorum"},
		{"redis:lock:nightly", "redlock", "redsync", "no-ttl"},
	} {
		if !slices.ContainsFunc(s.Locks, func(l lock) bool {
			return l.ID == want.id && l.Kind == want.kind && l.Recipe == want.recipe && (want.rule == "" || l.found(want.rule))
		}) {
			missing = append(missing, fmt.Sprint(want))
		}
	}
	return missing
}

func (l *lock) found(rule string) bool {
	return slices.ContainsFunc(l.Findings, func(f reportedFinding) bool { return f.Rule == rule })
}
