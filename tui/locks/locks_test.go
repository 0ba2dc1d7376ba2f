package locks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

func TestWiderWindowsShowMore(t *testing.T) {
	open(t, fixture.Everything(), 58, 10).expect("narrow", `
8 locks: 2 contended - X 1 critical - ! 2 warnings
   LOCK               HOLDER          HELD    WAIT  QUEUE
>X redis:lock~voices  split 2-2          -       -  ?
 ! zk:/locks/orders   worker-3      13m58s  13m40s  3
 ! redis:lock:left    mino~ty 1/5        -       -  ?
 * zk:/locks/billing  3 readers      <=20s     12s  3
 ? redis:lock:dark    3 of 5 down        -       -  ?
 * redis:lock~art:42  Y2~Yw== 3/5     0.7s       -  ?
 * zk:~}\u{200b}\xff  evi~{202e}?  <=1h00m       -  -
 . zk:/locks/nightly  free               -       -  -`)
	p := open(t, fixture.Everything(), 190, 36)
	want := `8 locks: 2 contended - X 1 critical - ! 2 warnings
   LOCK                                   HOLDER             HELD    WAIT  QUEUE        TTL  FINDING v
>X redis:lock:invoices                    split 2-2             -       -  ?           7.0s  split-quorum
 ! zk:/locks/orders                       worker-3         13m58s  13m40s  === 3          -  stuck-holder
 ! redis:lock:left                        minority 1/5          -       -  ?          1m10s  minority-leftover
 * zk:/locks/billing                      3 readers         <=20s     12s  === 3          -
 ? redis:lock:dark                        3 of 5 down           -       -  ?          1m10s
 * redis:lock:cart:42                     Y2N~NjYw== 3/5     0.7s       -  ?           6.9s
 * zk:~}[31mred\u{202e}\u{d}\u{200b}\xff  evil~\u{202e}?  <=1h00m       -  -              -  herd
 . zk:/locks/nightly                      free                  -       -  -              -

 -- longest waits --------------------------------------------------------------------------------------------
   13m40s  worker-7      waits for zk:/locks/orders, held by worker-3
      12s  writer-1      waits for zk:/locks/billing, held by 3 readers

 -- acquired in the last 5m ----------------------------------------------------------------------------------
   none seen
`
	must.Equal(t, p.drawn(110), strings.TrimSpace(want), "wide")
}

func TestColumnsShowLocks(t *testing.T) {
	old, muted, thin := fixture.Orders(), fixture.Orders(), fixture.Thin()
	old.ID, old.Polled, old.ReadAt = fixture.Id("zk:/locks/old"), true, fixture.Ago(7*time.Second)
	muted.ID, muted.State, muted.Holders = fixture.Id("zk:/locks/muted"), inspect.StateFree, nil
	muted.Waiters = []inspect.Contender{{State: inspect.Waiting}}
	muted.Findings[0].Muted = &inspect.Muted{Until: fixture.In(time.Hour)}
	forever := inspect.KeyLock(fixture.Id("redis:lock:forever"), []inspect.Vote{{Addr: "r1", Up: true, Present: true, Value: "v", NoExpiry: true}}, fixture.Noon)
	thin.Masters = slices.Clone(thin.Masters)
	locks := []*inspect.Lock{old, muted, forever, thin, fixture.Readers(), fixture.FreeLock()}
	p := open(t, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), locks), 258, 9)
	p.shown, _ = newTable([]string{"lock", "kind", "library", "holder", "held", "wait", "queue", "ttl", "finding", "client", "session", "backend"})
	p.press("s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s")
	want := `
6 locks: 3 contended - ! 1 warning - 1 muted
   LOCK ^              KIND       LIBRARY       HOLDER               HELD    WAIT    LAST 5M QUEUE          TTL  FINDING               CLIENT
>* redis:lock:cart:42  redlock    redsync       Y2Nj~2NjYw== 3/5     0.7s       -                ?  ====   6.9s                        ?
 * redis:lock:forever  mutex      token         v?                      ?       -                ?         none                        ?
 * zk:/locks/billing   rw         kazoo         3 readers           <=20s     12s                3            -                        10.2.~:53122 +2
 . zk:/locks/muted     mutex      curator       free                    -       ?                1            -  ! muted               -
 . zk:/locks/nightly   mutex      -                 free                                -       -                -            -
 ! zk:/locks/old       mutex      curator       worker-3           13m58s  13m40s                3            -  stuck-holder          10.2.0.2:53122
`
	must.Equal(t, p.drawn(152), strings.TrimSpace(want), "all columns")
	p.press("W")
	want = `
6 locks: 3 contended - ! 1 warning - 1 muted
   LOCK ^              HOLDER                           HELD
>* redis:lock:cart:42  Y2NjY2NjY2NjY2NjY2NjYw== 3/5     0.7s
 * redis:lock:forever  v?                                  ?
 * zk:/locks/billing   3 readers                       <=20s
 . zk:/locks/muted     free                                -
 . zk:/locks/nightly   free                                -
 ! zk:/locks/old       worker-3  10.2.0.2:53122       13m58s
`
	must.Equal(t, p.drawn(60), strings.TrimSpace(want), "full names")
}

// Muting a finding for a while does not widen any column.
func TestMutingKeepsNoWidth(t *testing.T) {
	l := fixture.Orders()
	p := open(t, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l}), 80, 8)
	before := p.header(p.grid())
	muted := *l
	muted.Findings = []inspect.Finding{{Rule: "stuck-holder", Muted: &inspect.Muted{Until: fixture.In(time.Hour)}}}
	for _, l := range []*inspect.Lock{&muted, l} {
		p.put(inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l}), l.ID)
	}
	must.Equal(t, p.header(p.grid()), before)
}

func TestLocksAreSorted(t *testing.T) {
	p := open(t, some(), 400, 14)
	p.shown, _ = newTable([]string{"lock", "kind", "library", "holder", "held", "wait", "queue", "ttl", "finding", "client", "session", "backend"})
	for _, want := range []struct{ order, reversed string }{
		{"client: «billing» orders 42 dark invoices left nightly false", "client, reversed: «orders» billing 42 dark invoices left nightly false"},
		{"session: «billing» orders 42 dark invoices left nightly false", "session, reversed: «orders» billing 42 dark invoices left nightly false"},
		{"backend: «42» dark invoices left billing nightly orders false", "backend, reversed: «billing» nightly orders 42 dark invoices left false"},
		{"name: «42» dark invoices left billing nightly orders true", "name, reversed: «orders» nightly billing left invoices dark 42 false"},
		{"kind: «nightly» orders 42 dark invoices left billing true", "kind, reversed: «billing» 42 dark invoices left nightly orders false"},
		{"library: «orders» billing 42 dark invoices left nightly true", "library, reversed: «dark» invoices left 42 billing orders nightly false"},
		{"holder: «billing» orders 42 nightly left invoices dark false", "holder, reversed: «42» orders billing nightly left invoices dark false"},
		{"held longest: «orders» billing 42 dark invoices left nightly false", "held longest, reversed: «42» billing orders dark invoices left nightly false"},
		{"waited longest: «orders» billing 42 dark invoices left nightly false", "waited longest, reversed: «billing» orders 42 dark invoices left nightly false"},
		{"longest queue: «orders» billing 42 dark invoices left nightly false", "longest queue, reversed: «billing» orders 42 dark invoices left nightly false"},
		{"expires first: «42» invoices dark left billing nightly orders false", "expires first, reversed: «dark» left invoices 42 billing nightly orders false"},
		{"worst: «invoices» orders left billing dark 42 nightly false", "worst, reversed: «nightly» 42 dark billing left orders invoices false"},
	} {
		for i, want := range []string{want.order, want.reversed, want.order} {
			p.press([]string{"s", "S", "S"}[i])
			title, _, _ := strings.Cut(p.header(p.grid()), "HOLDER")
			must.Equal(t, fmt.Sprintf("%s: %s %v", p.Want.Order, p.names(), strings.Contains(title, "^")), want)
		}
	}
}

func TestLocksAreGrouped(t *testing.T) {
	p := open(t, some(), 80, 8)
	p.press("p").expect("grouped", `
7 locks: 2 contended - X 1 critical - ! 2 warnings                 sort: worst
   LOCK                 HOLDER               HELD    WAIT  QUEUE  FINDING v
 X - redis:lock:                                         X 1  ! 1  ? 1  3 locks
>X   invoices           split 2-2               -       -  ?      split-quorum
 !   left               minority 1/5            -       -  ?      minority-le~
 ?   dark               3 of 5 down             -       -  ?
 ! + zk:/locks/                                       ! 1  2 contended  3 locks
 * redis:lock:cart:42   Y2Nj~2NjYw== 3/5     0.7s       -  ?`)
	for _, step := range []struct{ press, want, said string }{
		{"down", "lock: invoices «left» dark /locks/ 42", ""},
		{"h", "«lock:» /locks/ 42", ""},
		{"enter", "«lock:» invoices left dark /locks/ 42", ""},
		{"enter", "«lock:» /locks/ 42", ""},
		{"down", "lock: «/locks/» 42", ""},
		{"down", "lock: /locks/ «42»", ""},
		{"enter", "lock: /locks/ «42»", "chain redis:lock:cart:42"},
		{"p", "invoices orders left billing dark «42»", "grouping off"},
	} {
		p.said, p.went = "", ""
		must.Equal(t, p.press(step.press).names(), step.want, step.press)
		must.Equal(t, p.said+p.went, step.said, step.press)
	}
}

// The cursor follows a group once the user has opened it.
func TestAnOpenedGroupIsFollowed(t *testing.T) {
	p := open(t, some(), 80, 8).press("p")
	p.moveTo(0)
	p.moved = false
	p.press("enter")
	must.True(t, p.moved, "the group is not followed")
}

// The longest waits are shown even for a single lock, whatever the table is sorted by.
func TestOverviewListsLongestWaits(t *testing.T) {
	below := func(locks ...*inspect.Lock) string {
		p := open(t, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), locks), 190, 36)
		p.sortBy(byName)
		p.SetSize(190, 36)
		_, text, _ := strings.Cut(p.drawn(112), "-- longest waits")
		return text
	}
	a, b := fixture.Orders(), fixture.Orders()
	b.ID.Path += "-2"
	must.Contain(t, below(a, fixture.Readers()), `
   13m40s  worker-7      waits for zk:/locks/orders, held by worker-3
      12s  writer-1      waits for zk:/locks/billing, held by 3 readers
`)
	for older, want := range map[time.Duration]string{0: "orders,", 2 * time.Second: "orders-2,"} {
		b.Waiters[0].Since = a.Waiters[0].Since.Add(-older)
		_, first, _ := strings.Cut(below(a, b), "waits for zk:/locks/")
		must.Equal(t, first[:len(want)], want, older, "older")
	}
	queues := slices.DeleteFunc(fixture.ManyLocks(36), func(l *inspect.Lock) bool { return len(l.Waiters) == 0 })
	must.Equal(t, strings.Count(below(queues...), "waits for"), waitsShown, "waits")
	must.Contain(t, below(fixture.FreeLock()), "no waiters seen")
	must.Equal(t, below(fixture.ManyLocks(60)...), "", "below a long table")
}

func TestTheCursorMoves(t *testing.T) {
	p := open(t, fixture.Everything(), 80, 6)
	for _, step := range []struct{ key, want string }{
		{"j", "invoices «orders» left billing"},
		{"up", "«invoices» orders left billing"},
		{"k", "«invoices» orders left billing"},
		{"pgdown", "orders left billing «dark»"},
		{"G", "dark 42 \x1b[31mred\u202e\r\u200b\xff «nightly»"},
		{"g", "«invoices» orders left billing"},
	} {
		must.Equal(t, p.press(step.key).names(), step.want, step.key)
	}
	p.press("down").Home()
	must.Equal(t, p.press().names(), "invoices «orders» left billing", "home, from a held lock")
	p.press("G").Home()
	must.Equal(t, p.put(p.snapshot).names(), "«invoices» orders left billing", "home, from a free lock")
}

// A full name has priority over less useful columns.
func TestNamesComeBeforeBlankColumns(t *testing.T) {
	host := fixture.Person{Name: "app-2.prod.acme.net:4005", Session: 1}
	l := fixture.QueueOf("/locks/reports/aggregation-of-customer/eu-west-1", time.Minute, host)
	p := open(t, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l}), 118, 12)
	must.Contain(t, p.drawn(118), l.ID.String()+"  "+host.Name)
	before := p.drawn(118)
	must.True(t, p.press("W").drawn(118) != before, "W changes nothing")
	must.Equal(t, p.press("W").drawn(118), before, "after W was pressed twice")
}

// While the user types a filter, the cursor is on the first match, or stays on its lock.
func TestLocksAreFiltered(t *testing.T) {
	p := open(t, some(), 80, 12)
	for _, step := range []struct{ press, names, summary string }{
		{"down", "invoices «orders» left billing dark 42 nightly", "7 locks: 2 contended - X 1 critical - ! 2 warnings                 sort: worst"},
		{"/", "invoices «orders» left billing dark 42 nightly", "/    words of any name, host or finding, or: lock= holder= host~  7 of 7 locks"},
		{"redis", "«invoices» left dark 42", "/ redis   in any name, host, session or finding                   4 of 7 locks"},
		{"enter", "«invoices» left dark 42", "4 of 7 locks by name or host: 0 contended - X 1 critical               / redis"},
		{"n", "invoices «left» dark 42", "4 of 7 locks by name or host: 0 contended - X 1 critical               / redis"},
		{"N", "«invoices» left dark 42", "4 of 7 locks by name or host: 0 contended - X 1 critical               / redis"},
		{"esc", "«invoices» orders left billing dark 42 nightly", "7 locks: 2 contended - X 1 critical - ! 2 warnings                 sort: worst"},
		{"/", "«invoices» orders left billing dark 42 nightly", "/    words of any name, host or finding, or: lock= holder= host~  7 of 7 locks"},
		{"state:", "", "/ state:   in any name, host, session or finding                  0 of 7 locks"},
		{"x", "", "/ state:x   in any name, host, session or finding                 0 of 7 locks"},
		{"enter", "", "0 of 7 locks by name or host: 0 contended                            / state:x"},
		{"esc", "«invoices» orders left billing dark 42 nightly", "7 locks: 2 contended - X 1 critical - ! 2 warnings                 sort: worst"},
		{"/", "«invoices» orders left billing dark 42 nightly", "/    words of any name, host or finding, or: lock= holder= host~  7 of 7 locks"},
		{"2", "orders billing «42»", "/ 2   in any name, host, session or finding                       3 of 7 locks"},
		{"esc", "invoices orders left billing dark «42» nightly", "7 locks: 2 contended - X 1 critical - ! 2 warnings                 sort: worst"},
	} {
		p.press(step.press)
		summary, _, _ := strings.Cut(p.drawn(400), "\n")
		must.Equal(t, p.names(), step.names, step.press)
		must.Equal(t, summary, step.summary, step.press)
	}
}

// The summary says how often the rows move as soon as there is room for it.
func TestOrderNoteNeedsItsRoom(t *testing.T) {
	p := open(t, some(), 80, 12)
	for width := 80; width < 120 && !strings.Contains(p.drawn(400), "reordered"); width++ {
		p.SetSize(width, 12)
	}
	must.Contain(t, p.drawn(400), "! 2 warnings  sort: worst - reordered every 10s\n")
}

func TestLocksAreMarked(t *testing.T) {
	p := open(t, some(), 80, 12)
	for _, step := range []struct{ press, marked, said string }{
		{"v", "[redis:lock:invoices]", ""},
		{"v", "[redis:lock:invoices zk:/locks/orders]", ""},
		{"up", "[redis:lock:invoices zk:/locks/orders]", ""},
		{"v", "[redis:lock:invoices]", ""},
		{"V", "[]", "nothing is marked"},
		{"/", "[]", ""},
		{"orders", "[]", ""},
		{"enter", "[]", ""},
		{"V", "[zk:/locks/orders]", "1 marked: x, X, A and m act on all of them"},
	} {
		p.said = ""
		p.press(step.press)
		must.Equal(t, fmt.Sprint(p.Marked()), step.marked, step.press)
		must.Equal(t, p.said, step.said, step.press)
	}
	p.expect("marked", `
1 of 7 locks by name or host: 1 contended - ! 1 warning - 1 marked    / orders
   LOCK                 HOLDER               HELD    WAIT  QUEUE  FINDING v
>!+zk:/locks/orders     worker-3           13m58s  13m40s  3      stuck-holder`)
	p.put(inspect.NewSnapshot(fixture.Noon, fixture.Backends(), nil))
	must.Equal(t, len(p.Marked()), 0, "deleted, but still marked", p.Marked())
	many := open(t, inspect.NewSnapshot(fixture.Noon, nil, fixture.ManyLocks(101)), 80, 12)
	must.Equal(t, many.press("V").said, screen.TooMany())
	must.Equal(t, len(many.marks), 0, "marked")
}

func TestColumnsAreChosen(t *testing.T) {
	p := open(t, some(), 80, 6)
	p.press("C")
	for _, step := range []struct{ press, want, said string }{
		{"space", "lock holder held wait queue finding", "without the lock column, rows would look alike"},
		{"j", "lock holder held wait queue finding", ""},
		{"space", "lock held wait queue finding", ""},
		{"K", "lock held wait queue finding", ""},
		{"J", "lock held wait queue finding", ""},
		{"G", "lock held wait queue finding", ""},
		{"x", "lock held wait queue finding backend", ""},
		{"g", "lock held wait queue finding backend", ""},
		{"0", "lock holder held wait queue finding", ""},
		{"j", "lock holder held wait queue finding", ""},
		{"j", "lock holder held wait queue finding", ""},
		{"k", "lock holder held wait queue finding", ""},
		{"K", "holder lock held wait queue finding", ""},
		{"K", "holder lock held wait queue finding", ""},
		{"J", "lock holder held wait queue finding", ""},
		{"x", "lock held wait queue finding", ""},
		{"esc", "lock holder held wait queue finding", ""},
	} {
		p.said = ""
		p.press(step.press)
		must.Equal(t, strings.Join(p.view().Columns, " "), step.want, step.press)
		must.Equal(t, p.said, step.said, step.press)
	}
	must.Equal(t, p.dialog, nil, "after esc")
	must.Equal(t, p.press("C", "y", "enter").copied, p.view().configuration(), "copied")
	must.Equal(t, p.dialog, nil, "after enter")
}

func TestEmptyListsSayWhy(t *testing.T) {
	backend := func(state inspect.BackendState, firstPass bool) *inspect.Backend {
		return &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: state, FirstPass: firstPass, Scanned: 7}
	}
	blind := backend(inspect.Connected, true)
	blind.Unseen = []inspect.Unseen{{Aspect: inspect.AspectLocks}}
	sought := backend(inspect.Connected, true)
	sought.Sought.For = []string{"/"}
	for _, test := range []struct {
		want     string
		backends []*inspect.Backend
		failed   error
	}{
		{"Connecting~ No server has answered yet.", nil, nil},
		{"Nothing can be shown. ended", nil, errors.New("ended")},
		{"No locks so far. Still scanning: 7 directories and keys so far.", []*inspect.Backend{backend(inspect.Connected, false)}, nil},
		{"Unknown: no backend can be reached. There may be locks; the errors are above.", []*inspect.Backend{backend(inspect.Down, true)}, nil},
		{"No locks that we can see. Some could not be read: f says which, and why. 7 scanned.", []*inspect.Backend{blind}, nil},
		{"No locks found in the parts that could be read. 14 scanned; a backend is down, see above.", []*inspect.Backend{backend(inspect.Down, true), sought}, nil},
		{"No locks. Found no lock under these roots and patterns; 7 scanned. zk: looked below /.", []*inspect.Backend{sought}, nil},
	} {
		p := open(t, inspect.NewSnapshot(fixture.Noon, test.backends, nil), 120, 12)
		p.failed = test.failed
		p.SetSize(120, 12)
		_, text, _ := strings.Cut(p.drawn(400), "FINDING v")
		must.Equal(t, strings.Join(strings.Fields(text), " "), test.want)
		unknown := strings.HasPrefix(p.drawn(400), "locks unknown ")
		must.Equal(t, unknown, strings.HasPrefix(test.want, "Unknown"), test.want)
	}
	p := open(t, some(), 120, 12).press("/", "nothing", "enter")
	must.Contain(t, p.drawn(400), "No lock matches the filter.")
	must.Contain(t, p.drawn(400), "esc shows all of them.")
	must.Contain(t, open(t, some(), 120, 12).press("/", "hots", "=x").drawn(400), "This filter is invalid.")
}

func TestClicksSelectOpenAndSort(t *testing.T) {
	for _, test := range []struct {
		what                string
		width, height, x, y int
		want                string
	}{
		{"a row", 80, 12, 9, 3, "at 1, worst  in chain false"},
		{"the selected row", 80, 12, 9, 2, "at 0, worst chain redis:lock:invoices in chain false"},
		{"a title", 80, 12, 4, 1, "at 2, name  in chain false"},
		{"no title", 80, 12, 1, 1, "at 0, worst  in chain false"},
		{"the summary", 80, 12, 4, 0, "at 0, worst  in chain false"},
		{"below the rows", 80, 12, 4, 10, "at 0, worst  in chain false"},
		{"the chain next to the table", 190, 12, 130, 5, "at 0, worst  in chain true"},
		{"the chain below", 100, 30, 4, 25, "at 0, worst  in chain true"},
		{"the table above it", 100, 30, 4, 3, "at 1, worst  in chain false"},
	} {
		p := open(t, some(), test.width, test.height)
		p.press("down", "up")
		p.went = ""
		p.click(test.x, test.y)
		got := fmt.Sprintf("at %d, %s %s in chain %v", p.table.At, p.Want.Order, p.went, p.inChain)
		must.Equal(t, got, test.want, test.what, test.width, test.height, test.x, test.y)
	}
}

func TestTabGoesToTheChain(t *testing.T) {
	p := open(t, some(), 190, 36).press("tab", "down", "down")
	must.Equal(t, p.names(), "«invoices» orders left billing dark 42 nightly", "the table moved")
	must.Contain(t, p.drawn(400), ">  10.2.1.3:6379")
	p.press("tab", "down")
	must.True(t, strings.HasPrefix(p.names(), "invoices «orders»"), "the keys stayed in the chain", p.names())
	p = open(t, some(), 80, 12).press("tab", "down")
	must.True(t, p.said != "" && strings.HasPrefix(p.names(), "invoices «orders»"), "without a chain", p.names())
}

// A long list is arranged in the background, including changes in the meantime.
func TestManyLocksAreArrangedInBackground(t *testing.T) {
	list := fixture.ManyLocks(screen.AtOnce + 3)
	empty := open(t, inspect.NewSnapshot(fixture.Noon, nil, nil), 100, 8)
	empty.put(inspect.NewSnapshot(fixture.Noon, nil, list))
	must.True(t, strings.Contains(empty.drawn(400), "Sorting 1003 locks~"), empty.drawn(400))
	p := open(t, inspect.NewSnapshot(fixture.Noon, nil, list), 100, 8)
	p.Screen.Update(p.later[0])
	p.press("s")
	must.Contain(t, p.drawn(400), "sorting~\n")
	must.True(t, p.Busy && len(p.later) == 2, "requests", p.later)
	first := list[0].ID
	p.put(inspect.NewSnapshot(fixture.Noon, nil, list[1:]), first)
	p.press("s")
	for i, rows := range []int{screen.AtOnce + 3, screen.AtOnce + 2} { // the first is no longer wanted
		if p.Screen.Update(p.later[1+i]); p.Busy == (i == 1) || len(p.Index.Rows) != rows && i == 1 {
			t.Errorf("%d: busy %v, %d rows", i, p.Busy, len(p.Index.Rows))
		}
	}
	p.SetSize(100, 8)
	p.expect("arranged", `
1002 locks: 334 contended - ! 200 warnings                      sort: holder - reordered every 10s
   LOCK                     HOLDER ^               HELD    WAIT  QUEUE        TTL  FINDING
>! zk:/app-000/lock-000100  w?  10.2.0.0:53122   <=0.0s       -  -              -  herd
 ! zk:/app-000/lock-000200  w?  10.2.0.0:53122   <=0.0s    0.0s  = 1            -  herd
 ! zk:/app-000/lock-000400  w?  10.2.0.0:53122   <=0.0s       -  -              -  herd
 ! zk:/app-000/lock-000500  w?  10.2.0.0:53122   <=0.0s     20s  = 1            -  herd
 ! zk:/app-000/lock-000700  w?  10.2.0.0:53122   <=0.0s       -  -              -  herd
 ! zk:/app-000/lock-000800  w?  10.2.0.0:53122   <=0.0s    0.0s  = 1            -  herd`)
}

// The lock under the cursor stays in place, even if it is gone.
func TestTheCursorStaysOnItsLock(t *testing.T) {
	list := slices.Collect(some().Locks())
	p := open(t, some(), 80, 12).press("down", "down")
	id := p.Current.Lock
	p.put(inspect.NewSnapshot(fixture.Noon, fixture.Backends(), slices.DeleteFunc(list, func(l *inspect.Lock) bool { return l.ID == id })), id)
	must.Contain(t, p.drawn(400), "   "+id.String()+" is gone")
	must.Equal(t, p.Current.Lock, id)
	must.Equal(t, fmt.Sprint(p.ScrollPosition()), "2 6 10")
	for _, after := range []time.Duration{settleStart - 1, 1} {
		p.now = p.now.Add(after)
		must.Contain(t, p.drawn(400), "is gone", "settled too soon")
		p.Screen.Update(screen.TickMsg{})
	}
	p.press("up")
	p.now = p.now.Add(lineKept)
	p.Screen.Update(screen.TickMsg{})
	p.SetSize(80, 12)
	must.True(t, !strings.Contains(p.drawn(400), "is gone"), "not settled", p.drawn(400))
	must.Equal(t, len(p.Focus()), 6, "settled", p.drawn(400))
	p.Open(screen.Place{Subject: screen.Subject{Lock: fixture.Id("zk:/locks/nightly")}}, screen.SnapshotMsg{})
	must.Equal(t, p.Selected().Lock.Path, "/locks/nightly", "opened", p.Selected())
	p.Screen.Update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	must.True(t, p.Selected().Lock.Path != "/locks/nightly", "the wheel did not move the cursor")
}

func TestGrantsAreCounted(t *testing.T) {
	p := open(t, some(), 190, 36)
	for i, path := range strings.Fields("orders left billing orders left orders billing") {
		at := fixture.Ago(time.Duration(200-30*i) * time.Second)
		p.log.List = append(p.log.List, inspect.Event{Kind: inspect.EventAcquired, Lock: fixture.Id("zk:/locks/" + path), At: at})
	}
	p.granted = fixture.Orders().Holders[0].Name
	p.SetSize(190, 36)
	must.Contain(t, p.drawn(112), `
  2.1/min           #  #  #  #  #  #  #
  0.9/min  zk:/locks/orders
  0.6/min  zk:/locks/billing
  0.6/min  zk:/locks/left`)
}
