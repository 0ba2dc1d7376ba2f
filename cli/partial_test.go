package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recording"
)

// What was refused or failed may hide a finding: doctor says so by its exit code, unless that is known and
// allowed. What nobody asked for, and what happens between two looks, hides nothing from one.
func TestDoctorFailsWhereAFindingCouldHide(t *testing.T) {
	unseen := func(a inspect.Aspect) []inspect.Unseen {
		return []inspect.Unseen{{Aspect: a, Where: "r1:1", Read: "TYPE", Reason: "NOPERM", Right: "+type"}}
	}
	server := func(state inspect.ServerState) []inspect.Server {
		return []inspect.Server{{Addr: "z1:2181", State: inspect.ServerUp}, {Addr: "z2:2181", State: state}}
	}
	fine := inspect.Lock{ID: inspect.ID{Backend: "b", Path: "/a"}, State: inspect.StateHeld}
	warned := fine
	warned.Findings = []inspect.Finding{found("herd", inspect.Warning)}
	for _, tt := range []struct {
		name           string
		backend        inspect.Backend
		lock           inspect.Lock
		code, allowing int
		stderr         string // a part of it; empty: nothing
	}{
		{"everything was seen", inspect.Backend{State: inspect.Connected, Servers: server(inspect.ServerUp)}, fine, 0, 0, ""},
		{"a part of a lock", inspect.Backend{State: inspect.Connected}, inspect.Lock{ID: fine.ID, Unseen: unseen(inspect.AspectWaiters)}, 3, 0, "has 1 lock seen in part"},
		{"a master of a lock", inspect.Backend{State: inspect.Connected}, inspect.Lock{ID: fine.ID, Masters: []inspect.Vote{{Addr: "r1"}}}, 3, 0, "1 lock seen in part"},
		{"a part of the backend", inspect.Backend{State: inspect.Connected, Unseen: unseen(inspect.AspectLocks)}, fine, 3, 0, "is seen in part"},
		{"a dead replica of a cluster", inspect.Backend{State: inspect.Connected, Servers: []inspect.Server{{Addr: "r2:6379", State: inspect.ServerDown, Role: "replica", Cluster: true}}}, fine, 0, 0, ""},
		{"a dead member", inspect.Backend{State: inspect.Connected, Servers: server(inspect.ServerDown)}, fine, 3, 0, "no answer from z2:2181"},
		{"a server that was not asked", inspect.Backend{State: inspect.Connected, Servers: server(inspect.ServerUnknown)}, fine, 0, 0, ""},
		{"a degraded backend", inspect.Backend{State: inspect.Degraded}, fine, 3, 0, "is degraded"},
		{"a backend that is down", inspect.Backend{State: inspect.Down}, fine, 3, 3, "is down"},
		{"what happens between two looks", inspect.Backend{State: inspect.Connected, Unseen: unseen("changes")}, fine, 0, 0, ""},
		{"found wins", inspect.Backend{State: inspect.Connected, Unseen: unseen(inspect.AspectLocks)}, warned, 1, 1, "seen in part"},
	} {
		tt.backend.Name = "b"
		s := inspect.NewSnapshot(time.Now(), []*inspect.Backend{&tt.backend}, []*inspect.Lock{&tt.lock})
		for allow, want := range map[bool]int{false: tt.code, true: tt.allowing} {
			for _, output := range []string{"text", "json"} {
				var stdout, stderr bytes.Buffer
				a := &app{Environment: Environment{Stdout: &stdout, Stderr: &stderr}}
				err := a.printDiagnosis(s, output, inspect.Warning.Rank(), allow)
				if code := exitCode(err); code != want {
					t.Errorf("%s, allowed %v, %s: exit code %d, want %d", tt.name, allow, output, code, want)
				}
				if said := stderr.String(); output == "json" && want == 3 && !strings.Contains(said, tt.stderr) {
					t.Errorf("%s: stderr %q lacks %q", tt.name, said, tt.stderr)
				}
			}
		}
	}
}

func TestDoctorNamesADeadMember(t *testing.T) {
	b := &inspect.Backend{Name: "zk", State: inspect.Connected, Servers: []inspect.Server{{Addr: "z1:2181", State: inspect.ServerUp}, {Addr: "z2:2181", State: inspect.ServerDown, Error: "connection\x1b[2J refused"}}}
	text := report(inspect.NewSnapshot(time.Now(), []*inspect.Backend{b}, nil), nil)
	for _, want := range []string{"partial view", "NOT SEEN", "server z2:2181 is down", "refused"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("a server's bytes reach the terminal: %q", text)
	}
}

// A vote that could not be looked at is told by the exit code though its backend is connected; one that was
// refused is for doctor to tell.
func TestAVoteThatCouldNotBeLookedAtIsToldByTheExitCode(t *testing.T) {
	t.Parallel()
	id := inspect.ID{Backend: "redis", Path: "lock:a"}
	vote := func(addr string, up bool) inspect.Vote {
		return inspect.Vote{Addr: addr, Up: up, Present: up, Value: "abc", ExpiresAt: time.Now().Add(time.Hour)}
	}
	refused := vote("r3:6379", true)
	refused.Unseen = []inspect.Unseen{{Aspect: inspect.AspectVotes, Where: "r3:6379", Read: "GETRANGE", Reason: "NOPERM", Right: "+getrange"}}
	allRefused := vote("r3:6379", false)
	allRefused.Error, allRefused.Unseen = "NOPERM", refused.Unseen
	for name, tt := range map[string]struct {
		last inspect.Vote
		code int
	}{
		"one refused all": {allRefused, 0},
		"all answered":    {vote("r3:6379", true), 0}, "one did not": {vote("r3:6379", false), 3}, "one refused": {refused, 0},
	} {
		l := inspect.KeyLock(id, []inspect.Vote{vote("r1:6379", true), vote("r2:6379", true), tt.last}, time.Now())
		b := &inspect.Backend{Name: "redis", Kind: inspect.Redis, State: inspect.Connected}
		var text bytes.Buffer
		err := recording.Save(&text, func(yield func(time.Time, inspect.Update) bool) {
			yield(time.Now(), inspect.Update{Backend: b, Put: []*inspect.Lock{l}})
		})
		file := filepath.Join(t.TempDir(), "a.jsonl")
		if err := errors.Join(err, os.WriteFile(file, text.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]string{{"ls"}, {"show", id.String()}} {
			got := run(t, append(command, file)...)
			if got.code != tt.code || (tt.code == 3) != strings.Contains(got.stderr, "backend redis: a master did not answer for 1 lock") || !strings.Contains(got.stdout, "redis:lock:a") {
				t.Errorf("%s, %s: %+v, want %d", name, command[0], got, tt.code)
			}
		}
	}
}
