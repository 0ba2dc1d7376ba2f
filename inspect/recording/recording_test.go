package recording

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/internal/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 11, 21, 9, 0, 10, 0, time.UTC)

// beginning is the header of a recording.
const beginning = `{"recording":2,"at":"2026-11-21T09:00:10Z"}` + "\n"

// script is a source that emits its updates and ends.
type script []inspect.Update

func (s script) Run(_ context.Context, emit func(inspect.Update)) error {
	for _, u := range s {
		emit(u)
	}
	return nil
}

func (script) Focus([]inspect.ID) {}

func node(number int, session int64, data string) inspect.Znode {
	return inspect.Znode{
		Name: fmt.Sprintf("0c4f1b2e9d8a4f6fb1f0a7c3d5e60718__lock__%010d", number), Known: true,
		EphemeralOwner: session, Czxid: session,
		Created: now.Add(-time.Minute), Data: []byte(data),
	}
}

func directory(path string, nodes ...inspect.Znode) *inspect.Lock {
	l, _ := inspect.Directory{Children: nodes}.Lock(inspect.ID{Backend: "zk", Path: path}, now)
	return l
}

// runs returns two sources with the hard cases, such as binary names.
func runs() []inspect.Source {
	hostile := "/l\x1b\xff\u202e\\"
	a, b, c := node(0, 10, "host-a"), node(1, 11, "\x00\xfe"), node(2, -12, "")
	found := inspect.Finding{
		Rule: "blind", Severity: inspect.Info, Message: "no", Confidence: "certain",
		Steps:    []inspect.Step{{Verb: inspect.VerbRelease, Lock: inspect.ID{Backend: "zk", Path: "/\xff"}, Owner: "\xfe", Waiter: true, Why: "open", Command: "c"}},
		Evidence: map[string]any{"contender": inspect.Untrusted("\xff"), "count": 3},
	}
	vote := func(addr, value string) inspect.Vote {
		return inspect.Vote{Addr: addr, Up: true, Present: true, Value: inspect.Untrusted(value), ExpiresAt: now.Add(10 * time.Second)}
	}
	key := inspect.ID{Backend: "redis", Path: "k\xff"}
	held := inspect.KeyLock(key, []inspect.Vote{vote("a:1", "x"), vote("b:1", "x"), vote("c:1", "y\xfe")}, now)
	held.Findings = []inspect.Finding{found}
	return []inspect.Source{
		script{
			{Backend: &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, Mode: inspect.ModeWatch}},
			{Put: []*inspect.Lock{directory(hostile, a, b, c), directory("/gone", a)}},
			{
				Sessions: map[int64]inspect.Session{10: {ID: 10, Client: "10.0.0.1:999\x9b\\", LastContact: now}}, AllSessions: true,
				Watches: &inspect.WatchTable{Backend: "zk", ReadAt: now.Add(time.Second), Sessions: map[string][]int64{hostile + "/" + a.Name: {11}}},
			},
			{Put: []*inspect.Lock{directory(hostile, b, c)}, Gone: []inspect.ID{{Backend: "zk", Path: "/gone"}}},
		},
		script{
			{Backend: &inspect.Backend{
				Name: "redis", Kind: inspect.Redis, State: inspect.Degraded, Mode: inspect.ModePush, FirstPass: true,
				Servers:  []inspect.Server{{Addr: "a:1", State: inspect.ServerUp, ClockKnown: true, ClockOffset: time.Millisecond, StartedAt: now}},
				Findings: []inspect.Finding{found},
			}},
			{Gap: &inspect.Gap{Backend: "redis", From: now.Add(-time.Minute), Until: now}},
			{Put: []*inspect.Lock{held, inspect.KeyLock(inspect.ID{Backend: "redis"}, []inspect.Vote{vote("a:1", "1")}, now)}},
		},
	}
}

func final(t *testing.T, clock func() time.Time, sources ...inspect.Source) string {
	t.Helper()
	o := inspect.NewObserver(clock, sources...)
	must.Succeed(t, o.Run(t.Context()))
	return document(t, o.Snapshot())
}

// document is a snapshot's JSON, with the backends by name: a replay has them in the order of its updates.
func document(t *testing.T, s *inspect.Snapshot) string {
	t.Helper()
	slices.SortFunc(s.Backends, func(a, b *inspect.Backend) int { return strings.Compare(a.Name, b.Name) })
	return string(must.Have(json.MarshalIndent(jsonform.Snapshot(s), "", " "))(t))
}

func fixed() time.Time { return now.Add(2 * time.Second) }

// record records sources until they end.
func record(t testing.TB, sources ...inspect.Source) []byte {
	t.Helper()
	var file bytes.Buffer
	must.Succeed(t, New(time.Now, &file, sources...).Run(t.Context(), func(inspect.Update) {}))
	return file.Bytes()
}

// Recording passes updates on unchanged, and so does playing a recording.
func TestARecordingPlaysItsUpdates(t *testing.T) {
	live := final(t, fixed, runs()...)
	must.Equal(t, final(t, fixed, New(time.Now, new(bytes.Buffer), runs()[0])), final(t, fixed, runs()[0]), "passed on")
	list := played(t, record(t, runs()[0]))
	must.True(t, list[2].Sessions != nil && list[2].Backend != nil, "sessions are recorded without their backend")
	must.True(t, list[1].Backend == nil, "locks are recorded with their backend")
	for _, file := range [][]byte{
		record(t, runs()...),
		record(t, Read(time.Now, bytes.NewReader(record(t, runs()...)), Speed(0), Kept())), // a recording of a recording
	} {
		must.NoDiff(t, cmp.Diff(live, final(t, fixed, Read(time.Now, bytes.NewReader(file), Speed(0), Kept()))))
	}
}

// Large updates are split into lines and joined again when read.
func TestALargeUpdateIsSeveralLines(t *testing.T) {
	put := slices.Repeat([]*inspect.Lock{directory("/l", node(0, 10, "x"), node(1, 11, "y"))}, 10_000)
	file := record(t, script{{Put: put, Backend: &inspect.Backend{Name: "zk", FirstPass: true}}})
	must.Equal(t, bytes.Count(file, []byte("\n")), 1+8, "lines of the header and 30,000 contenders")
	must.Equal(t, bytes.Count(file, []byte(`"FirstPass"`)), 1, "lines with the backend")
	u := playOne(t, file)
	must.Equal(t, len(u.Put), len(put), "locks")
	must.True(t, u.Backend != nil, "no backend")
	whole := bytes.Join(must.Have(lines(wholeFirst, now, u))(t), nil)
	must.Equal(t, bytes.Count(whole, []byte(wholeBegin)), 1, "lines that begin a snapshot")
}

func TestCrashLosesOnlyLastUpdate(t *testing.T) {
	file := record(t, runs()[0])
	for cut := len(file) - 1; cut > bytes.IndexByte(file, '\n')+1; cut -= 7 {
		r := Read(time.Now, bytes.NewReader(file[:cut]), Speed(0))
		n := 0
		must.Succeed(t, r.Run(t.Context(), func(inspect.Update) { n++ }))
		must.Equal(t, n, bytes.Count(file[:cut], []byte("\n"))-1, "updates before", cut)
		must.Equal(t, r.Cut(), file[cut-1] != '\n', "cut at", cut)
	}
}

func TestUnreadableFilesAreErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	_, err := Open(time.Now, path)
	must.Equal(t, fmt.Sprint(err), "recording: open "+path+": no such file or directory")
	_, err = NewFinder(path)
	must.Equal(t, fmt.Sprint(err), "recording: stat "+path+": no such file or directory")
	must.Be(t, err, os.ErrNotExist)
	_, err = Open(time.Now, t.TempDir())
	must.Contain(t, fmt.Sprint(err), "is a directory")
	_, err = NewFinder(t.TempDir())
	must.Be(t, err, ErrNotSeekable)
	must.Equal(t, err.Error(), "recording: not a regular file, so it is not seekable")
	const wide = zstdMagic + "\x00\x79\x61\x01\x00" + beginning // a window of 36 MiB
	for _, text := range []string{"hello\n", zstdMagic + "\xff\xff\xff\xff\xff\xff\xff", gzipMagic + "\xff\xff", wide} {
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		_, err = Open(time.Now, path)
		must.Be(t, err, ErrFormat, text)
	}
	must.Succeed(t, os.WriteFile(path, record(t, runs()...), 0o600))
	r := must.Have(Open(time.Now, path))(t)
	must.Succeed(t, os.Remove(path))
	must.Equal(t, fmt.Sprint(r.All(func(inspect.Update) {})), "recording: open "+path+": no such file or directory")
	path = keep(t, asGzip, handoffs(0))
	broken := must.Have(os.ReadFile(path))(t)
	broken[len(broken)-8]++ // the checksum
	must.Succeed(t, os.WriteFile(path, broken, 0o600))
	_, err = finderOf(t, path).End(t.Context())
	must.Equal(t, fmt.Sprint(err), "recording: "+path+", line 4: gzip: invalid checksum")
	must.Be(t, must.Have(Open(time.Now, path))(t).All(func(inspect.Update) {}), gzip.ErrChecksum)
	again := New(time.Now, io.Discard, Read(time.Now, strings.NewReader("hello\n")))
	must.Be(t, again.Run(t.Context(), nil), ErrFormat, "recording another recording")
}

// All times shift together: 10 s ago in the recording is 10 s ago in the replay.
func TestTimesMoveToThePresent(t *testing.T) {
	file := record(t, runs()...)
	kept, moved := played(t, file, Kept()), played(t, file)
	by := moved[len(moved)-1].Put[0].ReadAt.Sub(now)
	must.True(t, by != 0, "nothing moved")
	later := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) && a.IsZero() || a.Sub(b).Abs() == by.Abs() })
	all := cmp.AllowUnexported(inspect.Contender{}, inspect.Lock{}, inspect.WatchTable{}, inspect.Spread{})
	must.NoDiff(t, cmp.Diff(kept, moved, all, later))
	empty := Read(fixed, strings.NewReader(beginning))
	must.Equal(t, empty.Now(), fixed(), "before it plays")
	must.Succeed(t, empty.Run(t.Context(), nil))
	must.Equal(t, empty.Now(), fixed(), "the end of an empty recording")
}

// endless is a source without updates that runs until it is canceled.
type endless struct{ script }

func (endless) Run(ctx context.Context, _ func(inspect.Update)) error {
	<-ctx.Done()
	return ctx.Err()
}

// failing is a disk that is full after that many lines.
type failing struct{ lines int }

func (f *failing) Write(p []byte) (int, error) {
	if f.lines--; f.lines < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestAFullDiskEndsTheRecording(t *testing.T) {
	for lines := range 3 {
		state := 0
		err := New(time.Now, &failing{lines}, runs()[0], endless{}).Run(t.Context(), func(inspect.Update) { state++ })
		must.Equal(t, fmt.Sprint(err), "recording: short write", lines, "lines")
		must.Equal(t, state, max(0, lines-1), "updates passed on after", lines, "lines")
	}
	for lines := 590; lines < 700; lines++ { // the first whole snapshot is among them
		must.Be(t, Save(&failing{lines}, handoffs(750)), io.ErrShortWrite, lines, "lines")
	}
}

func TestNothingPlaysAfterCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late := func(inspect.Update) { t.Error("an update after the end") }
	must.Succeed(t, New(time.Now, io.Discard, runs()[0]).Run(ctx, late))
	path := keep(t, asText, handoffs(1500))
	for _, speed := range []float64{0, 1} {
		must.Be(t, must.Have(Open(time.Now, path, Speed(speed)))(t).Run(ctx, late), context.Canceled, "at speed", speed)
	}
	f := finderOf(t, path)
	_, err := f.Moment(ctx, after(1400))
	must.Be(t, err, context.Canceled, "finding a moment")
	found := must.Have(f.Moment(t.Context(), after(1400)))(t)
	must.Be(t, found.Run(ctx, func(inspect.Update) {}), context.Canceled, "playing a moment")
}

func TestReplayKeepsRecordedPace(t *testing.T) {
	text := beginning + `{"at":"2026-11-21T09:00:11Z","update":{"Gone":["zk:/l"]}}
{"at":"2026-11-21T09:00:12Z","update":{"Gone":["zk:/l"]}}
`
	r := Read(time.Now, strings.NewReader(text), Speed(20), Kept())
	began := time.Now()
	must.Succeed(t, r.Run(t.Context(), func(inspect.Update) {}))
	must.True(t, time.Since(began) >= 95*time.Millisecond, "2 s at 20 times the speed took", time.Since(began))
	must.Equal(t, Read(time.Now, nil).speed, 1.0, "the speed without an option")
	must.True(t, !r.Now().Before(now.Add(1900*time.Millisecond)), "2 s at 20 times the speed ended at", r.Now())
}

// Run it with -fuzzminimizetime 1x. Otherwise Go's fuzzer spends up to a minute on minimizing each
// interesting input, and seems to hang.
func FuzzRead(f *testing.F) {
	f.Add(record(f, runs()...))
	f.Add([]byte(beginning + `{"at":"2026-11-21T09:00:10Z","more":true,"update":{"Put":[{"ID":"zk:/"}]}}` + "\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		o := inspect.NewObserver(fixed, Read(time.Now, bytes.NewReader(text), Speed(0)))
		if o.Run(context.Background()) == nil {
			_, _ = json.Marshal(jsonform.Snapshot(o.Snapshot()))
		}
	})
}
