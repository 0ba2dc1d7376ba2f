package tui

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/internal/servertest"
	"lockscope/theme"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { servertest.Main(m) }

// golden compares with testdata/NAME.golden, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (run with -update to accept):\n%s", path, diff)
	}
}

// noon is the time on every test's clock.
var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }
func in(d time.Duration) time.Time  { return noon.Add(d) }

func id(s string) inspect.ID {
	id, err := inspect.ParseID(s)
	if err != nil {
		panic(err)
	}
	return id
}

// znode is a contender of a ZooKeeper queue; watches is the one that it waits for, nil for a holder.
func znode(seq int32, label string, since time.Duration, watches *inspect.Contender, watch inspect.Confirmation) inspect.Contender {
	c := inspect.Contender{
		Name:     inspect.Untrusted("_c_7f3e0c51-0000-4000-8000-0000000000aa-lock-0000000" + string('0'+rune(seq/100%10)) + string('0'+rune(seq/10%10)) + string('0'+rune(seq%10))),
		Sequence: seq, Sequential: true, State: inspect.Holding, Count: 1, Since: ago(since), Czxid: int64(seq),
		Owner: inspect.Owner{
			Label: inspect.Untrusted(label), Session: 0x10000abcd0000 + int64(seq), Client: "10.2.0." + string('0'+rune(seq%10)) + ":53122",
			Server: "10.1.0.2:2181", SessionTimeout: 30 * time.Second,
		},
	}
	if watches != nil {
		c.State, c.Watches, c.Watch = inspect.Waiting, watches.Name, watch
	}
	return c
}

func orders() *inspect.Lock {
	a := znode(602, "worker-3", 14*time.Minute+2*time.Second, nil, 0)
	a.HeldSince, a.BlockedBelow = ago(13*time.Minute+58*time.Second), 3
	b := znode(603, "worker-7", 13*time.Minute+40*time.Second, &a, inspect.Confirmed)
	b.BlockedBelow = 2
	c := znode(604, "", 9*time.Minute+12*time.Second, &b, inspect.Unconfirmed)
	c.BlockedBelow = 1
	d := znode(605, "worker-1", 2100*time.Millisecond, &c, inspect.Missing)
	return &inspect.Lock{
		ID: id("zk:/locks/orders"), Kind: inspect.KindMutex, Recipe: "curator", Confidence: recipe.Certain, State: inspect.StateContended,
		Holders: []inspect.Contender{a}, Waiters: []inspect.Contender{b, c, d}, ReadAt: noon,
		Findings: []inspect.Finding{{
			Rule: "stuck-holder", Severity: inspect.Warning, Message: "held for 14 min, 40 times its usual p99, while 3 wait",
			Advice: "Look at 10.2.0.2: its session is alive.",
		}},
	}
}

func readers() *inspect.Lock {
	l := &inspect.Lock{
		ID: id("zk:/locks/billing"), Kind: inspect.KindRW, Recipe: "kazoo", Confidence: recipe.Certain, State: inspect.StateContended, ReadAt: noon,
	}
	for i := range int32(3) {
		c := znode(10+i, "reader-"+string('1'+rune(i)), 20*time.Second, nil, 0)
		c.Mode = recipe.Shared
		l.Holders = append(l.Holders, c)
	}
	w := znode(13, "writer-1", 12*time.Second, &l.Holders[2], inspect.Confirmed)
	l.Waiters = []inspect.Contender{w, znode(14, "reader-4", 11*time.Second, &w, inspect.Confirmed), znode(15, "reader-5", 10*time.Second, &w, inspect.Confirmed)}
	l.Waiters[1].Mode, l.Waiters[2].Mode = recipe.Shared, recipe.Shared
	return l
}

func freeLock() *inspect.Lock {
	return inspect.FreeDirectory(id("zk:/locks/nightly"), nil, noon)
}

// vote of master n; an empty value is an absent key, and a negative life means that it did not answer.
func vote(n int, value string, life time.Duration) inspect.Vote {
	v := inspect.Vote{Addr: "10.2.1." + string('0'+rune(n)) + ":6379", Up: true}
	switch {
	case life < 0:
		v.Up, v.Error = false, "no answer for 3.2s"
	case value != "":
		v.Present, v.Value, v.ExpiresAt = true, inspect.Untrusted(value), in(life)
	}
	return v
}

func thin() *inspect.Lock {
	const v = "Y2NjY2NjY2NjY2NjY2NjYw=="
	l := inspect.KeyLock(id("redis:lock:cart:42"), []inspect.Vote{
		vote(1, v, 7100*time.Millisecond), vote(2, v, 7100*time.Millisecond), vote(3, v, 6900*time.Millisecond), vote(4, "", 0), vote(5, "", -1),
	}, noon)
	l.Holders[0].HeldSince = ago(800 * time.Millisecond)
	return l
}

func split() *inspect.Lock {
	return inspect.KeyLock(id("redis:lock:invoices"), []inspect.Vote{
		vote(1, "aaaa", 7*time.Second), vote(2, "aaaa", 7*time.Second), vote(3, "bbbb", 6*time.Second), vote(4, "bbbb", 6*time.Second), vote(5, "", 0),
	}, noon)
}

func minority() *inspect.Lock {
	return inspect.KeyLock(id("redis:lock:left"), []inspect.Vote{
		vote(1, "aaaa", 70*time.Second), vote(2, "", 0), vote(3, "", 0), vote(4, "", 0), vote(5, "", 0),
	}, noon)
}

func unknownLock() *inspect.Lock {
	return inspect.KeyLock(id("redis:lock:dark"), []inspect.Vote{
		vote(1, "aaaa", 70*time.Second), vote(2, "", 0), vote(3, "", -1), vote(4, "", -1), vote(5, "", -1),
	}, noon)
}

// hostile has a name and an owner that would steer a terminal.
func hostile() *inspect.Lock {
	c := znode(1, "evil\x1b]52;c;AAAA\a\u202e", time.Hour, nil, 0)
	c.Owner.Client = "10.0.0.1\x1b[2J"
	return &inspect.Lock{
		ID: inspect.ID{Backend: "zk", Path: "/locks/\x1b[31mred\u202e\r\u200b\xff"}, Kind: inspect.KindMutex, Recipe: "sequential",
		Confidence: recipe.Possible, State: inspect.StateHeld, Holders: []inspect.Contender{c}, ReadAt: noon,
		Findings: []inspect.Finding{{Rule: "herd", Severity: inspect.Info, Message: "bell \a and \x1b[5m"}},
	}
}

func backends() []*inspect.Backend {
	zk := &inspect.Backend{
		Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, Mode: inspect.ModeWatch, FirstPass: true, Scanned: 214,
		Cost: inspect.Cost{PerSecond: 3, Watches: 214},
	}
	for _, a := range []string{"10.1.0.1:2181", "10.1.0.2:2181", "10.1.0.3:2181"} {
		zk.Servers = append(zk.Servers, inspect.Server{Addr: a, State: inspect.ServerUp, Role: "follower", ClockKnown: true})
	}
	redis := &inspect.Backend{Name: "redis", Kind: inspect.Redis, State: inspect.Degraded, Mode: inspect.ModePush, FirstPass: true}
	for n := range 5 {
		s := inspect.Server{
			Addr: "10.2.1." + string('1'+rune(n)) + ":6379", State: inspect.ServerUp, Role: "master", Latency: 400 * time.Microsecond,
			ClockOffset: time.Duration(n-1) * time.Millisecond, ClockKnown: true, StartedAt: ago(41 * 24 * time.Hour),
		}
		if n == 3 {
			s.StartedAt = ago(3 * time.Second)
		}
		if n == 4 {
			s = inspect.Server{Addr: s.Addr, State: inspect.ServerDown, Error: "no answer for 3.2s", Latency: -1}
		}
		redis.Servers = append(redis.Servers, s)
	}
	return []*inspect.Backend{zk, redis}
}

func everything() *inspect.Snapshot {
	return inspect.NewSnapshot(noon, backends(), []*inspect.Lock{
		orders(), readers(), freeLock(), thin(), split(), minority(), unknownLock(), hostile(),
	})
}

// plain draws without colour, so that golden files can be read.
func plain(o Options) Options {
	o.Theme = theme.Options{NoColor: true, ASCII: o.Theme.ASCII}
	if o.Now == nil {
		o.Now = func() time.Time { return noon }
	}
	return o
}

// model is one with a window and, unless nil, a snapshot.
func model(t *testing.T, o Options, width, height int, s *inspect.Snapshot) *Model {
	t.Helper()
	m := New(t.Context(), plain(o))
	send(m, tea.WindowSizeMsg{Width: width, Height: height})
	if s != nil {
		send(m, snapshotArrivedMsg{snapshot: s})
	}
	return m
}

func send(m *Model, msgs ...tea.Msg) (cmd tea.Cmd) {
	for _, msg := range msgs {
		_, cmd = m.Update(msg)
	}
	return cmd
}

// press sends keys: names such as enter, or single characters.
func press(m *Model, keys ...string) (cmd tea.Cmd) {
	for _, k := range keys {
		cmd = send(m, keyMsg(k))
	}
	return cmd
}

func keyMsg(k string) tea.KeyPressMsg {
	named := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "space": tea.KeySpace, "up": tea.KeyUp, "down": tea.KeyDown,
		"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "backspace": tea.KeyBackspace,
	}
	if code, ok := named[k]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	r := []rune(k)[0]
	return tea.KeyPressMsg{Code: r, Text: k}
}

func typeText(m *Model, text string) {
	for _, r := range text {
		press(m, string(r))
	}
}

// content is the screen as text, every line without trailing blanks.
func content(m *Model) string {
	lines := strings.Split(ansi.Strip(m.View().Content), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func wantText(t *testing.T, m *Model, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(content(m), text) {
			t.Errorf("the screen does not say %q:\n%s", text, content(m))
		}
	}
}

func wantNoText(t *testing.T, m *Model, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(content(m), text) {
			t.Errorf("the screen says %q:\n%s", text, content(m))
		}
	}
}

// fakeFeed hands out what is put into it.
type fakeFeed chan *inspect.Snapshot

func (f fakeFeed) Next(ctx context.Context) (*inspect.Snapshot, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case s := <-f:
		return s, nil
	}
}

var trueColor = colorprofile.TrueColor

func splitLines(s string) []string { return strings.Split(s, "\n") }

// cellOf is where text starts in a line, in cells.
func cellOf(line, text string) int {
	before, _, _ := strings.Cut(line, text)
	return ansi.StringWidth(before)
}

// heldScreen is a screen that is never shown, and holds locks.
type heldScreen struct {
	screen
	n func() int
}

func (s heldScreen) Holding() int           { return s.n() }
func (s heldScreen) Update(tea.Msg) tea.Cmd { return nil }

// holding lets the program hold n locks.
func holding(m *Model, n func() int) { m.screens["held"] = heldScreen{n: n} }
