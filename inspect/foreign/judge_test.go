package foreign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

const stuckAfter = 10 * time.Minute // the command line's default

// once reads a source as doctor does.
func once(t *testing.T, source inspect.Source) *inspect.Snapshot {
	t.Helper()
	o := inspect.NewObserver(time.Now, source)
	o.Diagnose(finding.Rules(), stuckAfter)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must.Succeed(t, o.Run(ctx))
	return o.Snapshot()
}

// watch reads a source as the screen does, with every lock in view. After all are read, it
// continues for a while, since some rules report only lasting conditions.
func watch(t *testing.T, source inspect.Source) *inspect.Snapshot {
	t.Helper()
	o := inspect.NewObserver(time.Now, source)
	o.Diagnose(finding.Rules(), stuckAfter)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sub := o.Subscribe()
	defer sub.Close()
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	for {
		s := must.Have(sub.Next(ctx))(t)
		if len(s.Backends) > 0 && s.Backends[0].FirstPass {
			var ids []inspect.ID
			for l := range s.Locks() {
				ids = append(ids, l.ID)
			}
			o.Focus(ids...)
			break
		}
	}
	watched, stop := context.WithTimeout(ctx, watchFor)
	defer stop()
	var last *inspect.Snapshot
	for {
		s, err := sub.Next(watched)
		if err != nil {
			break
		}
		last = s
	}
	if last == nil {
		last = o.Snapshot()
	}
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return last
}

// watchFor is the time for late findings after everything was read.
const watchFor = 1500 * time.Millisecond

// judge checks that nothing in a program's data is reported as wrong, and that exactly its locks
// are listed as locks.
func judge(t *testing.T, p program, how string, s *inspect.Snapshot) {
	t.Helper()
	complain := func(format string, args ...any) { t.Errorf(how+": "+format, args...) }
	for _, b := range s.Backends {
		for _, f := range b.Findings {
			if worse(f) {
				complain("backend: %s %s: %s", f.Severity, f.Rule, f.Message)
			}
		}
	}
	found := map[string]bool{}
	for l := range s.Locks() {
		about := fmt.Sprintf("%s (%s, %s, %s)", l.ID, l.Recipe, l.Confidence, l.State)
		glob, isLock := p.lock(l.ID.Path)
		found[glob] = true
		switch {
		case !isLock && sure(l.Confidence):
			complain("%s: taken for a lock", about)
		case isLock && l.Confidence == recipe.Certain && l.Recipe != p.locks[glob]:
			complain("%s: certain of the wrong recipe", about)
		}
		for _, f := range l.Findings {
			switch {
			case worse(f):
				complain("%s: %s %s: %s", about, f.Severity, f.Rule, f.Message)
			case advisesAction(f.Advice()):
				complain("%s: %s %s: advises %q", about, f.Severity, f.Rule, f.Advice())
			}
		}
	}
	for glob := range p.locks {
		if !found[glob] {
			complain("no lock like %s is listed", glob)
		}
	}
}

func sure(c recipe.Confidence) bool { return c == recipe.Certain || c == recipe.Likely }

func worse(f inspect.Finding) bool { return f.Severity != inspect.Info }

// advisesAction reports whether advice recommends a change on the servers.
func advisesAction(advice string) bool {
	return slices.ContainsFunc([]string{"lockscope release", "lockscope ttl", "delete", " DEL ", "PEXPIRE", "UNLINK", "CLIENT KILL", "deleteall"}, func(verb string) bool {
		return strings.Contains(advice, verb)
	})
}
