package tui

import (
	"fmt"
	"hash/fnv"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// fingerprint hashes everything reachable from a value, except shared immutable values such as
// snapshots, and functions and channels.
func fingerprint(v any) uint64 {
	h := fnv.New64a()
	seen := make(map[uintptr]bool)
	walkValue(h, reflect.ValueOf(v), seen)
	return h.Sum64()
}

func walkValue(h io.Writer, v reflect.Value, seen map[uintptr]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || v.Type() == reflect.TypeFor[*inspect.Snapshot]() || strings.HasPrefix(v.Type().Elem().PkgPath(), "sync") {
			fmt.Fprint(h, v.Pointer())
			return
		}
		if seen[v.Pointer()] {
			return
		}
		seen[v.Pointer()] = true
		walkValue(h, v.Elem(), seen)
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if p := v.Elem().Type(); strings.Contains(p.String(), "context.") {
			return
		}
		fmt.Fprint(h, v.Elem().Type())
		walkValue(h, v.Elem(), seen)
	case reflect.Struct:
		for i := range v.NumField() {
			fmt.Fprint(h, v.Type().Field(i).Name)
			walkValue(h, v.Field(i), seen)
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprint(h, v.Len())
		for i := range v.Len() {
			walkValue(h, v.Index(i), seen)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, key := range keys {
			fmt.Fprint(h, key)
			walkValue(h, v.MapIndex(key), seen)
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
	default:
		fmt.Fprint(h, v)
	}
}

// Drawing changes no state. The layout is made on events, so that a click hits what was drawn.
func TestViewChangesNothing(t *testing.T) {
	f := newFakeReleaser()
	for _, e := range screenList() {
		for _, size := range []struct{ width, height int }{{80, 24}, {120, 36}, {200, 50}} {
			t.Run(fmt.Sprintf("%s %dx%d", e.name, size.width, size.height), func(t *testing.T) {
				m := model(t, Options{Release: f.of, Lab: newFakeLab(), Faults: &fakeFaults{}}, size.width, size.height, fixture.Everything())
				goTo(m, e.name, screen.Subject{Lock: fixture.Orders().ID})
				for _, keys := range [][]string{nil, {"j"}, {"G"}, {"?"}, {"esc"}, {":"}, {"esc"}} {
					press(m, keys...)
					m.showLosses()
					before := fingerprint(m)
					first := m.View().Content
					must.Equal(t, fingerprint(m), before, "after", keys, "drawing changes the model")
					must.Equal(t, m.View().Content, first, "after", keys, "the second drawing differs")
				}
			})
		}
	}
}

// A reopened screen looks as if it had been in front all the time.
func TestHiddenScreensStayCurrent(t *testing.T) {
	t.Parallel()
	f := newFakeReleaser()
	for _, e := range screenList() {
		t.Run(string(e.name), func(t *testing.T) {
			now := fixture.Ago(time.Minute)
			o := Options{Release: f.of, Lab: newFakeLab(), Faults: &fakeFaults{}, Now: func() time.Time { return now }}
			shown, hidden := model(t, o, 120, 36, fixture.Everything()), model(t, o, 120, 36, fixture.Everything())
			holder, _ := fixture.Orders().Holders[0].Identity("zk")
			about := screen.Subject{Lock: fixture.Orders().ID, Owner: holder}
			open := func(m *Model, to screen.Name) {
				m.Go(to, about)
				settle(t, m, send(m, nil))
			}
			open(shown, e.name)
			other := screen.Backends
			if e.name == other {
				other = screen.Chain
			}
			open(hidden, other)
			for step := range 5 {
				now = now.Add(10 * time.Second)
				list := []*inspect.Lock{fixture.Orders(), fixture.Readers(), fixture.FreeLock(), fixture.Minority(), fixture.UnknownLock(), fixture.Hostile()}
				new := fixture.Sick("zk:/locks/new", fixture.Trouble("herd", inspect.Warning, ""))
				if step > 1 {
					list = append(list, new)
				}
				s := inspect.NewSnapshot(now, fixture.Backends(), list)
				s.Changed = []inspect.ID{fixture.Thin().ID, fixture.Split().ID, new.ID}
				if step == 2 {
					s.Events = []inspect.Event{
						{Kind: inspect.EventAppeared, At: now, Lock: new.ID},
						{Kind: inspect.EventFinding, At: now, Lock: new.ID, Finding: &new.Findings[0]},
					}
				}
				for _, m := range []*Model{shown, hidden} {
					settle(t, m, send(m, snapshotArrivedMsg{snapshot: s}))
				}
			}
			open(hidden, e.name)
			if e.name == screen.Clients { // their list is made at its own pace
				makeClients(shown)
				makeClients(hidden)
			}
			sorted := regexp.MustCompile(`sorted [0-9:]+`) // one of them was opened again
			view := func(m *Model) string { return sorted.ReplaceAllString(m.front().View(), "") }
			must.Equal(t, cmp.Diff(view(shown), view(hidden)), "")
		})
	}
}
