package act

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// Links are not followed, and a truncated line does not corrupt the next one.
func TestAuditSurvivesLinksAndCutLines(t *testing.T) {
	dir := t.TempDir()
	for name, link := range map[string]func(string, string) error{
		"is a symbolic link, which is not followed (remove it)":                                             os.Symlink,
		"has a second hard link, so lines would go to another file, too (remove it, and a new one is made)": os.Link,
	} {
		path, victim := filepath.Join(dir, name), filepath.Join(dir, "victim of a "+name)
		must.Succeed(t, os.WriteFile(victim, []byte("theirs\n"), 0o644))
		must.Succeed(t, link(victim, path))
		_, err := OpenAudit(time.Now, path, "test", "")
		must.Contain(t, fmt.Sprint(err, ":"), "audit: "+path+" "+name+":")
		must.Equal(t, must.Have(os.Stat(victim))(t).Mode().Perm(), 0o644, "mode of a file whose link", name)
	}
	path := filepath.Join(dir, "audit.jsonl")
	must.Succeed(t, os.WriteFile(path, nil, 0o644))
	_, err := OpenAudit(time.Now, filepath.Join(path, "below"), "test", "")
	must.Equal(t, fmt.Sprint(err), "audit: mkdir "+path+": not a directory")
	_, err = OpenAudit(time.Now, dir, "test", "")
	must.Equal(t, fmt.Sprint(err), "audit: open "+dir+": is a directory")
	a := must.Have(OpenAudit(time.Now, path, "test", ""))(t)
	defer a.Close()
	must.Equal(t, must.Have(os.Stat(path))(t).Mode().Perm(), 0o600, "mode")
	must.Succeed(t, a.write(line{Lock: "zk:/first"}))
	f := must.Have(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	f.WriteString(`{"lock":"zk:/cut by a full di`)
	f.Close()
	must.Succeed(t, a.write(line{Lock: "zk:/second"}))
	for mode, want := range map[int]string{os.O_WRONLY: "read", os.O_RDONLY: "write"} {
		limited := &Audit{now: time.Now, path: path, file: must.Have(os.OpenFile(path, mode, 0))(t)}
		must.Equal(t, fmt.Sprint(limited.write(line{})), "audit: "+want+" "+path+": bad file descriptor")
		limited.Close()
	}
	text := must.Have(os.ReadFile(path))(t)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	must.True(t, len(lines) == 3 && strings.Contains(lines[0], "zk:/first") && strings.HasPrefix(lines[2], "{") &&
		strings.Contains(lines[2], "zk:/second"), "audit file:", string(text))
}

// Each line names the backend and its chroot or database.
func TestAuditLinesNameTheBackend(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr, DB: 3, ReadTimeout: time.Minute})
	defer admin.Close()
	admin.Set(t.Context(), "lock:a", "v", 0)
	releaser := onMaster(t, admin, server.Addr)
	releaser.target.Name, releaser.target.DB = "cache", 3
	must.Have(perform(t, releaser, Request{ID: inspect.ID{Backend: "cache", Path: "lock:a"}, Owner: "v"}))(t)
	for _, l := range auditLines(t, releaser.audit.path) {
		must.True(t, l["backend"] == "cache" && l["db"] == 3.0 && l["role"] == "holding", "line", l)
	}
	zookeeper := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	conn := connectZooKeeper(t, zookeeper.Addr)
	create(t, conn, "/apps", "", 0)
	names := zkQueue(t, conn, "/apps/lock", 1)
	below := onEnsemble(t, conn, zookeeper.Addr)
	below.target.Chroot = "/apps"
	releaseFirst(t, below, inspect.ID{Backend: "zk", Path: "/lock"}, inspect.Untrusted(names[0]))
	for _, l := range auditLines(t, below.audit.path) {
		must.True(t, l["backend"] == "zk" && l["chroot"] == "/apps", "line", l)
	}
}

func TestAuditNamesTheSudoUser(t *testing.T) {
	t.Setenv("SUDO_USER", "alice")
	a, path := openAudit(t)
	must.Succeed(t, a.write(line{Lock: "zk:/a"}))
	trail, err := ReadTrail(path)
	must.True(t, err == nil && len(trail.Records) == 1 && trail.Records[0].Sudo == "alice", trail, err)
}

// A user without a name on the system is recorded by number.
func TestNamelessUserIsRecordedByNumber(t *testing.T) {
	unknown := func() (*user.User, error) { return nil, user.UnknownUserIdError(65532) }
	named := func() (*user.User, error) { return &user.User{Username: "ann"}, nil }
	nameless := func() (*user.User, error) { return &user.User{}, nil }
	for i, tt := range []struct {
		current func() (*user.User, error)
		uid     int
		want    string
	}{{named, 1000, "ann"}, {unknown, 65532, "uid 65532"}, {nameless, 0, "uid 0"}, {unknown, -1, ""}} {
		must.Equal(t, nameOf(tt.current, tt.uid), tt.want, i)
	}
}

// writeLines appends n lines to an audit file.
func writeLines(t *testing.T, a *Audit, n int) {
	t.Helper()
	for i := range n {
		must.Succeed(t, a.write(line{Phase: phaseResult, ActionID: fmt.Sprint(a.actor.Profile, i), Lock: fmt.Sprintf("zk:/%d", i), Action: "release"}))
	}
}

func openTest(t *testing.T, path, profile string) *Audit {
	t.Helper()
	a := must.Have(OpenAudit(time.Now, path, "test", profile))(t)
	t.Cleanup(func() { a.Close() })
	return a
}

// readWhole reads a trail, which must be whole.
func readWhole(t *testing.T, path string) Trail {
	t.Helper()
	return must.Have(ReadTrail(path))(t)
}

// A change to any line but the last is detected, at that line or the next.
func TestChangedTrailsAreSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeLines(t, openTest(t, path, "a"), 4)
	text := must.Have(os.ReadFile(path))(t)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if trail := readWhole(t, path); len(trail.Breaks) != 0 || len(trail.Records) != 4 || trail.Last == "" {
		t.Fatalf("as written: %+v", trail)
	}
	const edited, followed = "it was changed since it was written", "it followed a different line when it was written"
	const noSum = "it has no sum: it was cut, edited, or written by another program"
	without := func(i int) []string { return slices.Delete(slices.Clone(lines), i, i+1) }
	for what, tt := range map[string]struct {
		lines []string
		at    int // the first break
		why   string
	}{
		"first edited":   {append([]string{strings.Replace(lines[0], "zk:/0", "zk:/9", 1)}, lines[1:]...), 1, edited},
		"last edited":    {append(slices.Clone(lines[:3]), strings.Replace(lines[3], "zk:/3", "zk:/9", 1)), 4, edited},
		"first removed":  {without(0), 1, "lines before it are missing"},
		"one removed":    {without(2), 3, followed},
		"reordered":      {[]string{lines[0], lines[2], lines[1], lines[3]}, 2, followed},
		"repeated":       {[]string{lines[0], lines[1], lines[1], lines[2], lines[3]}, 3, followed},
		"sum removed":    {[]string{lines[0], lines[1], lines[2], strings.Split(lines[3], sumBefore)[0] + "}"}, 4, noSum},
		"cut":            {[]string{lines[0], lines[1][:40], lines[2], lines[3]}, 2, noSum},
		"without a link": {[]string{lines[0], string(sealed(line{}))}, 2, "it does not name the previous line"},
	} {
		must.Succeed(t, os.WriteFile(path, []byte(strings.Join(tt.lines, "\n")+"\n"), 0o600))
		breaks := readWhole(t, path).Breaks
		must.Equal(t, append(breaks, Break{})[0], Break{tt.at, tt.why}, what)
	}
	must.Succeed(t, os.WriteFile(path, []byte(strings.Join(lines[:3], "\n")+"\n"), 0o600))
	if trail := readWhole(t, path); len(trail.Breaks) != 0 || !strings.Contains(lines[2], trail.Last) {
		t.Errorf("last line removed: %+v, want no break", trail)
	}
	must.Succeed(t, os.WriteFile(path, make([]byte, maxAuditLine), 0o600))
	_, err := ReadTrail(path)
	must.Be(t, err, bufio.ErrTooLong)
}

// When a file is moved away, as logrotate does, a new one is started. No line is lost and each file
// is a valid chain.
func TestMovedTrailIsStartedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	must.Equal(t, len(readWhole(t, path).Records), 0, "records without a file")
	a := openTest(t, path, "a")
	writeLines(t, a, 2)
	moved := a.file
	must.Succeed(t, os.Rename(path, path+".1"))
	writeLines(t, a, 3)
	must.Be(t, moved.Close(), os.ErrClosed, "the file that was moved")
	for file, want := range map[string]int{path: 3, path + ".1": 2} {
		trail := readWhole(t, file)
		must.Equal(t, fmt.Sprint(len(trail.Records), trail.Breaks), fmt.Sprint(want, " []"), "records and breaks of", file)
	}
}

// Programs that write to the same file lose no lines and keep the chain valid. Lines may be empty or long.
func TestProgramsShareATrail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	must.Succeed(t, os.WriteFile(path, []byte("\n"), 0o600))
	const each = 25
	var writing sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		a := openTest(t, path, name)
		long := line{Phase: phaseResult, Lock: "zk:/" + strings.Repeat("x", 64<<10)}
		writing.Go(func() {
			for i := range each {
				long.ActionID = fmt.Sprint(name, i)
				must.Be(t, a.write(long), nil)
			}
		})
	}
	writing.Wait()
	trail := readWhole(t, path)
	must.True(t, len(trail.Records) == 2*each && trail.Damaged == 0, len(trail.Records), "records", trail.Damaged)
	must.Equal(t, len(trail.Breaks), 0, "breaks")
}

// The last line of an action decides its outcome.
func TestTrailJoinsTheLinesOfActions(t *testing.T) {
	a, path := openAudit(t)
	yes, no := true, false
	all := []struct {
		outcome string
		lines   []line
	}{
		{"unknown", []line{{Phase: phaseIntent, Why: "a test", Confirmed: "typed", Owner: evidence{Value: "sha256:0"}}}},
		{"done", []line{{Phase: phaseIntent}, {Phase: phaseResult, Released: &yes}}},
		{"done", []line{{Phase: phaseIntent}, {Phase: phaseResult, Set: &yes}}},
		{"done", []line{{Phase: phaseIntent}, {Phase: phaseResult, Asked: &yes, LetGo: &no}}},
		{"done", []line{{Phase: phaseIntent}, {Phase: phaseResult, Ended: &yes}}},
		{"refused", []line{{Phase: phaseIntent}, {Phase: phaseResult, Released: &no, Reason: Gone}}},
		{"failed", []line{{Phase: phaseIntent}, {Phase: phaseResult, Set: &no, Error: "refused", Detail: "why"}}},
		{"unknown", []line{{Phase: phaseIntent}, {Phase: phaseResult, Unknown: true}}},
		{"done", []line{{Phase: phaseIntent}, {Phase: phaseResult, Unknown: true}, {Phase: phaseLate, Released: &yes}}},
	}
	for i, tt := range all {
		for _, l := range tt.lines {
			l.ActionID, l.Lock = fmt.Sprint(i), "zk:/a"
			must.Succeed(t, a.write(l))
		}
	}
	trail := readWhole(t, path)
	for i, tt := range all {
		r := trail.Records[i]
		must.Equal(t, r.Outcome, tt.outcome, i)
		must.Equal(t, len(r.Lines), len(tt.lines), i)
		must.Equal(t, r.Ended == nil, len(tt.lines) == 1, i)
	}
	first, failed := trail.Records[0], trail.Records[6]
	must.Equal(t, fmt.Sprint(first.Why, first.Confirmed, first.Owner, first.Profile), "a testtypedsha256:0profile")
	must.Equal(t, fmt.Sprint(failed.Error, failed.Detail, trail.Records[5].Reason), "refusedwhygone")
	must.True(t, trail.Has(trail.Last), "the last sum is missing:", trail.Last)
	must.True(t, !trail.Has("another"), "has a sum that no line has")
	must.Equal(t, trail.Damaged, 0, "damaged lines")
}

// A lock taken by hand is recorded with its end. On Redis its value is secret.
func TestLocksTakenByHandAreRecorded(t *testing.T) {
	a, path := openAudit(t)
	id := inspect.ID{Backend: "zk", Path: "/a"}
	lost := must.Have(a.Acquired(Target{Name: "redis", DB: 3}, true, id, "secret"))(t)
	must.Succeed(t, lost.Lost(errors.New("its TTL\nended")))
	released := must.Have(a.Acquired(Target{Name: "zk", Chroot: "/apps"}, false, id, "node-1"))(t)
	must.Succeed(t, released.Released())
	must.Have(a.Acquired(Target{}, false, id, "node-2"))(t)
	for i, want := range []string{"lost " + digest("secret"), "released node-1", "acquired node-2"} {
		r := readWhole(t, path).Records[i]
		must.Equal(t, r.Outcome+" "+r.Owner, want)
		must.Equal(t, r.Action, "acquire", want)
	}
	lines := auditLines(t, path)
	if lines[0]["db"] != 3.0 || lines[0]["chroot"] != nil || lines[1]["error"] != `its TTL\u{a}ended` || lines[2]["chroot"] != "/apps" || lines[2]["role"] != "holding" {
		t.Errorf("%v", lines)
	}
}

func TestAuditPathFollowsTheEnvironment(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	must.Equal(t, must.Have(DefaultAuditPath(func(string) string { return "" }))(t), "/home/me/.local/state/lockscope/audit.jsonl")
	t.Setenv("HOME", "")
	_, err := DefaultAuditPath(func(string) string { return "" })
	must.Equal(t, fmt.Sprint(err), "audit: no home directory: $HOME is not defined (set XDG_STATE_HOME)")
	state := func(name string) string { return map[string]string{"XDG_STATE_HOME": "/state"}[name] }
	must.Equal(t, must.Have(DefaultAuditPath(state))(t), filepath.FromSlash("/state/lockscope/audit.jsonl"))
}

// broken is a place that takes no copies.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// Without a copy of its intent, no action is done. The result of one that was done is kept.
func TestAuditLinesAreCopied(t *testing.T) {
	a, path := openAudit(t)
	var copies bytes.Buffer
	a.CopyTo(&copies)
	must.Succeed(t, a.write(line{Phase: phaseIntent, Lock: "zk:/a"}))
	must.Contain(t, copies.String(), `"lock":"zk:/a"`)
	a.CopyTo(broken{})
	for _, p := range []phase{phaseIntent, phaseResult} {
		err := a.write(line{Phase: p, Lock: "zk:/a"})
		must.Equal(t, fmt.Sprint(err), "audit: a copy of the line: disk full")
	}
	lines := auditLines(t, path)
	must.True(t, len(lines) == 2 && lines[1]["phase"] == "result", lines)
	must.Equal(t, fmt.Sprint((*Audit)(nil).write(line{})), "audit: there is no audit file")
}

// An action whose result cannot be written reports what happened.
func TestUnwrittenResultIsReported(t *testing.T) {
	for want, result := range map[string]Result{
		"unknown whether it was done": {Unknown: true}, "it was done": {Released: true}, "nothing was done": {Reason: Gone},
	} {
		a, path := openAudit(t)
		got, err := audited(a, line{}, func() (Result, error) {
			a.Close()
			return result, errors.New("failed")
		})
		must.Equal(t, fmt.Sprint(err),
			"failed\n"+want+", but this could not be written: audit: stat "+path+": file already closed")
		must.Equal(t, got.Reason, result.Reason, want)
	}
}

// A late answer replaces an unknown result.
func TestUnknownResultsSettle(t *testing.T) {
	failed := errors.New("failed")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx      context.Context
		late     []Result
		released bool
	}{
		"an answer":        {t.Context(), []Result{{Released: true}}, true},
		"unknown for good": {t.Context(), []Result{{Unknown: true}}, false},
		"no answer":        {t.Context(), nil, false},
		"not awaited":      {ended, nil, false},
	} {
		late := make(chan Result, 1)
		for _, r := range tt.late {
			late <- r
		}
		if tt.ctx == t.Context() {
			close(late)
		}
		result, err := Result{Unknown: true, Late: late}.Settled(tt.ctx, failed)
		must.True(t, result.Released == tt.released && result.Unknown != tt.released && (err == nil) == tt.released,
			name, result, err)
	}
	_, err := Result{}.Settled(t.Context(), failed)
	must.Be(t, err, failed, "a known result")
}

// fixed is a Releaser that always gives the same answers.
type fixed struct {
	preview Preview
	result  Result
	err     error
}

func (r fixed) Preview(context.Context, Request) (Preview, error) { return r.preview, r.err }

func (r fixed) Execute(context.Context, Preview, string) (Result, error) { return r.result, r.err }

func TestBulkActionsStopAtFailures(t *testing.T) {
	seen := &inspect.Contender{Name: "a"}
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		releaser Releaser
		preview  string // the error
		tried    bool
		done     bool
	}{
		"released":   {fixed{Preview{Seen: seen}, Result{Released: true}, nil}, "<nil>", true, true},
		"a TTL":      {fixed{Preview{Seen: seen}, Result{Set: true}, nil}, "<nil>", true, true},
		"let go":     {fixed{Preview{Seen: seen}, Result{Asked: true, LetGo: true}, nil}, "<nil>", true, true},
		"not let go": {fixed{Preview{Seen: seen}, Result{Asked: true}, nil}, "<nil>", true, false},
		"refused": {
			fixed{Preview{Seen: seen, Refused: Gone, Detail: "why"}, Result{Released: true}, nil}, "<nil>", false, false,
		},
		"unreachable": {fixed{err: broken}, "zk:/a: broken", true, false},
		"no Releaser": {nil, "zk:/a: its backend cannot be written to", false, false},
	} {
		item := &Item{Request: Request{ID: inspect.ID{Backend: "zk", Path: "/a"}}}
		of := func(backend string) (Releaser, bool) { return tt.releaser, backend == "zk" && tt.releaser != nil }
		err := PreviewAll(t.Context(), of, nil, []*Item{item})
		must.Equal(t, fmt.Sprint(err), tt.preview, name)
		if err == nil && (item.Result.Seen != seen || item.Result.Reason != item.Preview.Refused || item.Result.Detail != item.Preview.Detail ||
			item.Preview.Others.Deadlock != DeadlockUnknown) {
			t.Errorf("%s: %+v", name, item)
		}
		done := ExecuteItem(t.Context(), of, item, "typed")
		must.Equal(t, [2]bool{item.Tried, done}, [2]bool{tt.tried, tt.done}, name)
	}
}
