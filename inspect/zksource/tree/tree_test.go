package tree

import (
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

func TestAdoptReportsChanges(t *testing.T) {
	t.Parallel()
	d := &Dir{}
	stat := &Stat{Czxid: 1, NumChildren: 3}
	if added, removed, _ := d.adopt([]string{"c", "a", "b"}, stat, noon); !slices.Equal(added, []string{"a", "b", "c"}) || removed != nil {
		t.Fatalf("%v %v", added, removed)
	}
	d.keep("a", []byte("x"), &Stat{EphemeralOwner: 7}, false)
	d.keep("b", []byte("y"), &Stat{EphemeralOwner: 7}, false)
	added, removed, _ := d.adopt([]string{"d", "b"}, stat, noon)
	if !slices.Equal(added, []string{"d"}) || !slices.Equal(removed, []string{"a", "c"}) {
		t.Fatalf("%v %v", added, removed)
	}
	if !d.has("b") || d.has("a") || d.has("d") {
		t.Errorf("nodes %v of %v", d.nodes, d.names)
	}
	d.adopt([]string{"b"}, &Stat{Czxid: 2}, noon)
	must.True(t, !d.has("b"), "a recreated directory keeps its old children")
}

func TestUnchangedListChangesNothing(t *testing.T) {
	t.Parallel()
	r := grown(Config{Roots: []string{"/l"}})
	r.server.Watched = []string{"/l"}
	put := func() *inspect.Lock { return r.Changes().Put["/l"] }
	r.answer(JobList, "/l", "", noon, &Stat{Czxid: 1}, nil, "item-0000000001")
	r.answer(JobGet, "/l", "item-0000000001", noon, &Stat{Czxid: 2}, nil)
	if l := put(); l != nil {
		t.Fatalf("persistent nodes are not a lock: %+v", l)
	}
	r.answer(JobList, "/l", "", noon, &Stat{Czxid: 1}, nil, "lock-0000000002")
	r.answer(JobGet, "/l", "lock-0000000002", noon, &Stat{Czxid: 3, EphemeralOwner: 7}, nil)
	if l := put(); l == nil || l.State != inspect.StateHeld {
		t.Fatalf("%+v", l)
	}
	r.answer(JobList, "/l", "", noon.Add(time.Second), &Stat{Czxid: 1}, nil, "lock-0000000002")
	if l := put(); l != nil {
		t.Errorf("an unchanged list is reported: %+v", l)
	}
	r.answer(JobList, "/l", "", noon, &Stat{Czxid: 1}, nil)
	if l := put(); l == nil || l.State != inspect.StateFree || l.Recipe != "sequential" {
		t.Errorf("%+v", l)
	}
}

func TestChrootIsAddedAndRemoved(t *testing.T) {
	t.Parallel()
	const app, none = Chroot("/app"), Chroot("")
	if got := app.OnServer("/locks"); got != "/app/locks" || none.OnServer("/locks") != "/locks" {
		t.Errorf("%q", got)
	}
	for full, want := range map[string]string{"/app": "/", "/app/locks/a": "/locks/a", "/application": "", "/other": ""} {
		if got, ok := app.Shown(full); ok != (want != "") || ok && got != want {
			t.Errorf("Shown(%q) = %q, %v", full, got, ok)
		}
	}
	if got, ok := none.Shown("/locks"); !ok || got != "/locks" {
		t.Errorf("%q, %v", got, ok)
	}
}

func TestContendersAppearOnceRead(t *testing.T) {
	t.Parallel()
	r := grown(Config{Roots: []string{"/l"}})
	list := func(names ...string) { r.answer(JobList, "/l", "", noon, &Stat{Czxid: 1}, nil, names...) }
	get := func(name string, session int64) {
		r.answer(JobGet, "/l", name, noon, &Stat{EphemeralOwner: session, Czxid: session}, nil)
	}
	r.FirstPass = true // before that, the queue is shown by its names alone
	list("x-0000000001", "x-0000000002")
	get("x-0000000002", 2)
	if r.changes.Put["/l"] != nil {
		t.Fatalf("reported before the holder was read: %+v", r.changes.Put["/l"])
	}
	get("x-0000000001", 1)
	list("x-0000000002", "x-0000000003")
	l := r.changes.Put["/l"]
	if l == nil || l.State != inspect.StateHeld || l.Holders[0].Czxid != 2 {
		t.Fatalf("the handoff is not reported at once: %+v", l)
	}
	get("x-0000000003", 3)
	if l = r.changes.Put["/l"]; len(l.Waiters) != 1 || l.Waiters[0].Owner.Session != 3 {
		t.Fatalf("after the new waiter was read: %+v", l)
	}
	list("x-0000000004")
	must.Equal(t, r.changes.Put["/l"], l, "a report although only an unread contender is left")
	get("x-0000000004", 4)
	if l = r.changes.Put["/l"]; l.State != inspect.StateHeld || l.Holders[0].Owner.Session != 4 {
		t.Errorf("%+v", l)
	}
}
