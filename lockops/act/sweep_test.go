package act

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

// TestSweep: what had children once and is empty and idle is deleted, by itself and audited. What is used, used lately, has data, is
// somebody's or never was a directory stays, and so does what a client uses between the look and the delete.
func TestSweep(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		audit, trail := openAudit(t)
		wire := &hooked{ZKConn: conn, beforeRemoval: func() {}}
		root := servertest.UniquePath(t)
		sweeper := NewZooKeeper(wire, Target{Name: "zk", Servers: []string{server.Addr}}, audit)
		t.Cleanup(sweeper.Close)
		create := func(node, data string, flags int32) string {
			t.Helper()
			made, err := conn.Create(node, []byte(data), flags, zk.WorldACL(zk.PermAll))
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		use := func(dir string) {
			t.Helper()
			if err := conn.Delete(create(dir+"/lock-", "", zk.FlagEphemeral|zk.FlagSequence), -1); err != nil {
				t.Fatal(err)
			}
		}
		create(root, "", 0)
		for _, dir := range []string{"/idle", "/idler", "/data", "/never", "/held", "/last"} {
			data := ""
			if dir == "/data" {
				data = "quota=7"
			}
			create(root+dir, data, 0)
		}
		create(root+"/owned", "", zk.FlagEphemeral)
		for _, dir := range []string{"/idler", "/idle", "/data"} {
			use(root + dir)
		}
		create(root+"/held/lock-", "", zk.FlagEphemeral|zk.FlagSequence)
		create(root+"/later", "", 0) // dates what was before it
		use(root + "/last")          // which nothing dates: it may have been just now

		preview := func(idle, later time.Duration) SweepPreview {
			t.Helper()
			p, err := sweeper.PreviewSweep(t.Context(), SweepRequest{Root: inspect.ID{Backend: "zk", Path: root}, Idle: idle, Now: time.Now().Add(later), Why: "a test"})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := preview(24*time.Hour, 48*time.Hour)
		var paths []string
		for _, dir := range p.Found {
			paths = append(paths, dir.Path)
		}
		slices.Sort(paths)
		if want := []string{root + "/idle", root + "/idler"}; !slices.Equal(paths, want) || p.Undated != 1 || p.WithData != 1 || p.Recent != 0 {
			t.Fatalf("found %v, want %v: %+v", paths, want, p)
		}
		if p := preview(24*time.Hour, 0); len(p.Found) != 0 || p.Recent != 2 {
			t.Errorf("of what was used today: %+v", p)
		}

		at := slices.IndexFunc(p.Found, func(dir EmptyDir) bool { return dir.Path == root+"/idle" })
		idle, idler := p.Found[at], p.Found[1-at]
		wire.beforeRemoval = func() { create(idler.Path+"/lock-", "", zk.FlagEphemeral) }
		if r, err := sweeper.Sweep(t.Context(), p, idler, "--yes"); err != nil || r.Released || r.Reason != Changed {
			t.Errorf("used right before the delete: %+v, %v", r, err)
		}
		wire.beforeRemoval = func() {}
		if err := conn.Delete(idler.Path+"/lock-", -1); err != nil {
			t.Fatal(err)
		}
		if r, err := sweeper.Sweep(t.Context(), p, idler, "--yes"); err != nil || r.Released || r.Reason != Changed {
			t.Errorf("used since it was looked at: %+v, %v", r, err)
		}
		if r, err := sweeper.Sweep(t.Context(), p, idle, "--yes"); err != nil || !r.Released || r.Reason != "" {
			t.Errorf("%+v, %v", r, err)
		}
		if there, _, err := conn.Exists(idle.Path); there || err != nil {
			t.Errorf("it is there: %v, %v", there, err)
		}
		if r, err := sweeper.Sweep(t.Context(), p, idle, "--yes"); err != nil || r.Reason != Gone {
			t.Errorf("once more: %+v, %v", r, err)
		}
		lines := auditLines(t, trail)
		if len(lines) != 8 || lines[5]["action"] != "sweep" || lines[5]["released"] != true || lines[5]["lock"] != "zk:"+idle.Path || lines[4]["why"] != "a test" {
			t.Errorf("audit: %v", lines)
		}
	})
}

// A directory that may not be listed is named, with the right; a root that is not there is an error.
func TestSweepSaysWhatItCannotRead(t *testing.T) {
	server := servertest.StartZooKeeper(t)
	conn := connectZooKeeper(t, server.Addr)
	sweeper := NewZooKeeper(conn, Target{Name: "zk", Servers: []string{server.Addr}}, nil)
	t.Cleanup(sweeper.Close)
	root := servertest.UniquePath(t)
	if _, err := conn.Create(root, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Create(root+"/shut", nil, 0, zk.WorldACL(zk.PermDelete)); err != nil {
		t.Fatal(err)
	}
	p, err := sweeper.PreviewSweep(t.Context(), SweepRequest{Root: inspect.ID{Backend: "zk", Path: root}, Now: time.Now()})
	if err != nil || len(p.Unread) != 1 || !strings.Contains(p.Unread[0], "/shut: grant READ") {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := sweeper.PreviewSweep(t.Context(), SweepRequest{Root: inspect.ID{Backend: "zk", Path: root + "/none"}}); err == nil || !errors.Is(err, ErrUnreachable) {
		t.Errorf("a root that is not there: %v", err)
	}
}
