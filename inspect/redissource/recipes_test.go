package redissource_test

import (
	"crypto/md5"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	uuidA = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718"
	uuidB = "7a1d2c3b-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
	guid  = "0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"
	guidB = "7a1d2c3b4e5f4a6b8c7d9e0f1a2b3c4d"
	tokA  = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="
	tokB  = "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI="
)

// written is a lock as its library writes it. NAME in its key and commands is the lock's name, and
// DIGEST the name's MD5.
type written struct {
	recipe   string
	lock     string // its key
	commands string // see run
	declared bool   // in the catalogue
}

// states are locks of the structured recipes, and one for each recipe of the catalogue. Keys expire
// only after minutes, in case the test is paused.
func states(t *testing.T) (all []written) {
	t.Helper()
	text := must.Have(os.ReadFile("testdata/locks.txt"))(t)
	for page := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		head, commands, _ := strings.Cut(page, "\n")
		name, lock, _ := strings.Cut(head, " ")
		all = append(all, written{recipe: name, lock: lock, commands: commands})
	}
	for _, l := range recipe.StringLocks() {
		if !slices.ContainsFunc(all, func(w written) bool { return w.recipe == l.Name }) {
			set := "SET " + l.Key + " " + l.Value + " PX 600000"
			all = append(all, written{recipe: l.Name, lock: l.Key, commands: set, declared: true})
		}
	}
	return all
}

// named fills in a lock's name and the clients' tokens.
func named(s, name string) string {
	return strings.NewReplacer(
		"NAME", name, "DIGEST", digest(name), "GUID-A", guid, "GUID-B", guidB, "UUID-A", uuidA, "UUID-B", uuidB,
		"TOKEN-A", tokA, "TOKEN-B", tokB,
	).Replace(s)
}

func digest(name string) string { return fmt.Sprintf("%x", md5.Sum([]byte(name))) }

// look reads a backend once, as the command line does.
func look(t *testing.T, cfg redissource.Config) *inspect.Snapshot {
	t.Helper()
	cfg.Once = true
	o := inspect.NewObserver(time.Now, redissource.New(cfg))
	must.Succeed(t, o.Run(t.Context()))
	return o.Snapshot()
}

var moving = regexp.MustCompile(`("(?:ttl_ms|validity_ms|age_ms)": )[0-9]+|("(?:held|seen)_since": )"[^"]*"`)

// golden compares a lock's JSON, with its varying parts replaced, to the golden file.
func golden(t *testing.T, file string, s *inspect.Snapshot, l *inspect.Lock, name string, addrs ...string) {
	t.Helper()
	text := must.Have(json.MarshalIndent(jsonform.Lock(s, l), "", "  "))(t)
	got := strings.NewReplacer(name, "NAME", digest(name), "DIGEST").Replace(string(text))
	for i, a := range addrs {
		got = strings.ReplaceAll(got, a, fmt.Sprintf("master-%d", i))
	}
	got = moving.ReplaceAllString(got, `$1$2"…"`) + "\n"
	path := filepath.Join("testdata", file+".json")
	if *update {
		must.Succeed(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := must.Have(os.ReadFile(path))(t)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; run with -update to accept):\n%s", path, diff)
	}
}

func TestLocksOfEveryLibrary(t *testing.T) {
	for _, w := range states(t) {
		t.Run(w.recipe, func(t *testing.T) {
			eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
				name := strings.ToLower(strings.NewReplacer("lock", "l", "Lock", "l", "semaphore", "s", "mutex", "m").Replace(servertest.UniqueName(t)))
				run(t, masters[0].Client(t), named(w.commands, name))
				cfg := config(masters...)
				cfg.Match = nil
				s := look(t, cfg)
				var found *inspect.Lock
				for l := range s.Locks() {
					if !strings.Contains(l.ID.Path, name) && !strings.Contains(l.ID.Path, digest(name)) && !strings.HasPrefix(l.ID.Path, "redbeat:") {
						continue
					}
					if l.ID.Path != named(w.lock, name) {
						t.Errorf("%s is listed", l.ID)
						continue
					}
					found = l
				}
				if found == nil {
					t.Fatalf("%s is not listed: no pattern of recipe.RedisPatterns matches its key, or no recipe recognises its value", w.lock)
				}
				if w.declared {
					if found.Recipe != w.recipe || found.State != inspect.StateHeld {
						t.Errorf("%s lock of %s, want a held lock of %s", found.State, found.Recipe, w.recipe)
					}
					return
				}
				golden(t, w.recipe, s, found, name, masters[0].Addr)

				cfg.Only = named(w.lock, name)
				alone := look(t, cfg)
				l := alone.Lock(found.ID)
				if l == nil {
					t.Fatal("not found by its name")
				}
				if l.Confidence == recipe.Likely { // because it was named
					unnamed := *l
					unnamed.Confidence = found.Confidence
					l = &unnamed
				}
				golden(t, w.recipe, alone, l, name, masters[0].Addr)
			})
		})
	}
}
