package wild

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli"
	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func TestMain(m *testing.M) { servertest.Main(m) }

func TestReports(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		for _, r := range reports(t) {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				if r.Real {
					t.Skip("needs real servers")
				}
				s := servers{zk: servertest.StartEmbeddedZooKeeper(t, zkserver.Config{Started: time.Now().Add(-time.Hour)})}
				for range r.Masters {
					s.redis = append(s.redis, servertest.StartEmbeddedRedis(t))
				}
				judge(t, s, r)
			})
		}
	})
	t.Run("real", func(t *testing.T) {
		if os.Getenv("LOCKSCOPE_REAL") == "" {
			t.Skip("real servers are off")
		}
		s := servers{zk: servertest.StartZooKeeper(t)}
		for range 3 {
			s.redis = append(s.redis, servertest.StartRedis(t))
		}
		for _, r := range reports(t) {
			t.Run(r.name, func(t *testing.T) {
				s := s
				if r.Through == "cluster" {
					s.redis = servertest.StartRedisCluster(t, 3)
				}
				judge(t, s, r)
			})
		}
	})
}

// judge plays a case and compares doctor's output with the expectation.
func judge(t *testing.T, s servers, r report) {
	t.Helper()
	targets := s.play(t, r)
	wrong := r.Expect.complaints(doctor(t, targets, r.Expect.Partial))
	for tries := 1; len(wrong) > 0 && len(r.Expect.findings()) > 0 && r.KnownWrong == "" && tries < 3; tries++ {
		wrong = r.Expect.complaints(doctor(t, targets, r.Expect.Partial)) // a busy server may not have reported its watches in time
	}
	switch {
	case r.KnownWrong == "" && len(wrong) > 0:
		t.Errorf("%s\n%s\nA colleague: %s", r.Report, strings.Join(wrong, "\n"), r.Colleague)
	case r.KnownWrong != "" && len(wrong) == 0:
		t.Errorf("%s: judged correctly now: remove known_wrong", r.Report)
	}
}

// findings are all expected findings. If there are none, the first read has to be right.
func (e expectation) findings() []string {
	all := slices.Clone(e.Backend)
	for _, l := range e.Locks {
		all = append(all, l.Findings...)
	}
	return all
}

// said is the compared part of doctor's output.
type said struct {
	code     int
	Backends []struct{ Findings []finding }
	Locks    []lock
}

type lock struct {
	Path, Kind, Recipe, State string
	Confidence                string `json:"recipe_confidence"`
	Holders, Waiters          []json.RawMessage
	Findings                  []finding
}

type finding struct{ Rule, Severity, Message string }

// doctor runs the command for these targets.
func doctor(t *testing.T, targets []string, partial bool) (s said) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	home := t.TempDir()
	args := append([]string{"doctor", "-o", "json"}, targets...)
	if !partial {
		args = append(args, "--allow-partial")
	}
	s.code = cli.Main(t.Context(), args, app.Environment{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Now: time.Now,
		Getenv: func(name string) string {
			return map[string]string{"XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}[name]
		},
	})
	if err := json.Unmarshal(stdout.Bytes(), &s); err != nil {
		t.Fatalf("doctor %v: exit %d: %v\n%s", targets, s.code, err, stderr.String())
	}
	return s
}

// complaints returns the differences between the expected and the actual output.
func (e expectation) complaints(s said) (all []string) {
	var ofBackends []finding
	for _, b := range s.Backends {
		ofBackends = append(ofBackends, b.Findings...)
	}
	all = compare("the backend", e.Backend, ofBackends)
	missing := maps.Clone(e.Locks)
	for _, l := range s.Locks {
		want, ok := e.Locks[l.Path]
		delete(missing, l.Path)
		if ok {
			all = append(all, want.complaints(l)...)
		} else if !slices.Contains(e.NotLocks, l.Path) || l.Confidence != "possible" || compare(l.Path, nil, l.Findings) != nil {
			all = append(all, fmt.Sprintf("%s: unexpected lock: %s %s %v", l.Path, l.Confidence, l.Recipe, l.Findings))
		}
	}
	for path := range missing {
		all = append(all, path+": not listed")
	}
	code := 0
	if slices.ContainsFunc(e.findings(), func(f string) bool { return !strings.HasSuffix(f, " info") }) {
		code = 1
	}
	if e.Partial {
		code = 3
	}
	if s.code != code {
		all = append(all, fmt.Sprintf("exit code %d, want %d", s.code, code))
	}
	return all
}

func (want lockExpectation) complaints(l lock) []string {
	all := compare(l.Path, want.Findings, l.Findings)
	differs := func(what, want, got string) {
		if want != "" && want != got {
			all = append(all, fmt.Sprintf("%s: %s: want %s, got %s", l.Path, what, want, got))
		}
	}
	differs("state", want.State, l.State)
	differs("kind", want.Kind, l.Kind)
	differs("recipe", want.Recipe, l.Recipe)
	differs("confidence", want.Confidence, l.Confidence)
	differs("waiters", want.Waiters, fmt.Sprint(len(l.Waiters)))
	if holders := fmt.Sprintf("%s", l.Holders); !strings.Contains(holders, want.Holder) {
		differs("holder", want.Holder, holders)
	}
	return all
}

// compare returns the difference between the wanted and the actual findings, except blind.
func compare(about string, want []string, found []finding) []string {
	var got []string
	for _, f := range found {
		if f.Rule != "blind" {
			got = append(got, f.Rule+" "+f.Severity)
		}
	}
	if slices.Equal(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))) {
		return nil
	}
	return []string{fmt.Sprintf("%s: want %q, found %q", about, want, found)}
}
