package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"lockscope/theme"
	"lockscope/tui"
)

// operatorAtScreen has nothing but the screen of some targets: he reads the frame, and presses keys.
type operatorAtScreen struct {
	t     *testing.T
	model tea.Model
	// answers to commands of the screen: snapshots, previews, results.
	answers chan tea.Msg
	ctx     context.Context
	under   sync.WaitGroup
	over    <-chan time.Time // of his patience
	// bulk has the keys that he presses on the row of a rule, once, for all of its findings.
	bulk map[string]string
	// read are the rows without a key that he has seen, the last time that he went through the list, and all.
	unkeyed, ever map[string]row
	did           []screenDeed
	// missing lists locks not yet freed and findings not yet read, for the message when his patience ends.
	missing func() []string
}

// screenDeed is an action of the operator, with the result that the screen showed.
type screenDeed struct{ rule, lock, key, result string }

// operatorWaits is longer than any of it takes on a busy machine.
const operatorWaits = 4 * time.Minute

// sitDown opens the screen that the program has for these targets, with --write.
func sitDown(t *testing.T, stuckAfter time.Duration, width, height int, urls ...string) *operatorAtScreen {
	t.Helper()
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
	a := &app{
		Environment: Environment{Stdout: io.Discard, Stderr: io.Discard, Now: time.Now, Getenv: func(name string) string { return env[name] }},
		options:     options{timeout: 10 * time.Second, stuckAfter: stuckAfter, budget: "default", write: true},
	}
	s, err := a.setUp(t.Context(), urls)
	if err != nil {
		t.Fatal(err)
	}
	observer, err := a.observer(s, false, "")
	if err != nil {
		t.Fatal(err)
	}
	w := a.newWriting(s, filepath.Join(t.TempDir(), "audit"), observer)
	if err := w.arm(true); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	o := &operatorAtScreen{t: t, ctx: ctx, answers: make(chan tea.Msg), over: time.After(operatorWaits), ever: map[string]row{}}
	o.model = tui.New(ctx, tui.Options{
		Feed: observer.Subscribe(), Focus: observer.Focus, Release: w.all.of, End: w.all.ender, Commands: s.commands,
		Armed: true, Arm: w.arm, Now: time.Now, Theme: theme.Options{NoColor: true},
	})
	o.under.Go(func() { _ = observer.Run(ctx) })
	t.Cleanup(func() {
		stop()
		o.under.Wait()
		w.close()
	})
	o.hear(tea.WindowSizeMsg{Width: width, Height: height})
	o.begin(o.model.Init())
	return o
}

// begin lets the screen ask for something.
func (o *operatorAtScreen) begin(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	o.under.Go(func() {
		msg := cmd()
		select {
		case o.answers <- msg:
		case <-o.ctx.Done():
		}
	})
}

// hear gives the screen an answer or a key.
func (o *operatorAtScreen) hear(msg tea.Msg) {
	if all, ok := msg.(tea.BatchMsg); ok {
		for _, cmd := range all {
			o.begin(cmd)
		}
		return
	}
	var cmd tea.Cmd
	o.model, cmd = o.model.Update(msg)
	o.begin(cmd)
}

func (o *operatorAtScreen) press(keys ...string) {
	o.t.Helper()
	named := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab}
	for _, key := range keys {
		msg := tea.KeyPressMsg{Code: named[key]}
		if named[key] == 0 {
			msg = tea.KeyPressMsg{Code: []rune(key)[0], Text: key}
		}
		o.hear(msg)
	}
}

func (o *operatorAtScreen) types(text string) { o.press(strings.Split(text, "")...) }

// frame is the window as text.
func (o *operatorAtScreen) frame() string { return ansi.Strip(o.model.View().Content) }

// look lets the screen take in what has come in the meantime.
func (o *operatorAtScreen) look() string {
	for {
		select {
		case msg := <-o.answers:
			o.hear(msg)
		default:
			return o.frame()
		}
	}
}

// await lets the screen take in what comes until it is as wanted.
func (o *operatorAtScreen) await(what string, ok func(frame string) bool) string {
	o.t.Helper()
	for {
		if s := o.frame(); ok(s) {
			return s
		}
		o.next(what)
	}
}

// next lets the screen take in one thing more.
func (o *operatorAtScreen) next(what string) {
	o.t.Helper()
	select {
	case msg := <-o.answers:
		o.hear(msg)
	case <-o.over:
		o.t.Fatalf("no %s on the screen. %s\n%s", what, o.report(), o.frame())
	}
}

// report lists his actions so far, the findings without a key, and the locks still missing.
func (o *operatorAtScreen) report() string {
	var b strings.Builder
	for _, d := range o.did {
		fmt.Fprintf(&b, "\n  %s: %s %s: %q", d.key, d.rule, d.lock, d.result)
	}
	for about, r := range o.unkeyed {
		fmt.Fprintf(&b, "\n  no key: %s: %q", about, r.advice)
	}
	if o.missing != nil {
		fmt.Fprintf(&b, "\n  not yet: %q", o.missing())
	}
	return fmt.Sprintf("%d deeds:%s", len(o.did), &b)
}

// row has the text of the finding under the cursor, or of the group of findings.
type row struct {
	rule   string
	locks  []string
	advice string
	// command of the program's own, in the advice.
	command string
	group   bool
	// key that the footer has for what is advised; empty: it names none.
	key  string
	line string // in the list
}

var (
	detailTitle = regexp.MustCompile(`^ [✖▲i?] (\S+)  .* (?:open for|the first of) `)
	namesLock   = regexp.MustCompile(`^   [a-z]+(?::\S+)?$`)
	advisedKeys = regexp.MustCompile(` (A|X|x) (?:ask|set TTL|release) `)
)

// read is the row under the cursor of the findings; false: there is none.
func (o *operatorAtScreen) read() (r row, ok bool) {
	o.t.Helper()
	frame := o.frame()
	lines := strings.Split(strings.TrimRight(frame, "\n "), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	at := slices.IndexFunc(lines, detailTitle.MatchString)
	if at < 0 {
		return r, false
	}
	if strings.Contains(frame, "more line") {
		o.t.Fatalf("the window is too small for all that is said:\n%s", frame)
	}
	for _, l := range lines {
		if strings.HasPrefix(l, "▸") {
			r.line = l
		}
	}
	r.rule, r.group = detailTitle.FindStringSubmatch(lines[at])[1], strings.Contains(lines[at], "the first of")
	for at++; namesLock.MatchString(lines[at]); at++ {
		r.locks = append(r.locks, strings.TrimSpace(lines[at]))
	}
	said, goesOn := false, false
	for _, l := range lines[at:] {
		if said = said && l != "" || strings.HasPrefix(l, "   do "); !said {
			continue
		}
		l = strings.TrimSpace(strings.TrimPrefix(l, "   do"))
		part := strings.TrimSuffix(l, `\`)
		if goesOn || r.command == "" && advisedCommand(l) != "" { // a line of its own, or several
			r.command, goesOn = r.command+part, part != l
		}
		r.advice += part + " "
	}
	if found := advisedKeys.FindStringSubmatch(lines[len(lines)-1] + " "); found != nil {
		r.key = found[1]
	}
	return r, true
}

// about is the rule and the locks of a row.
func (r row) about() string { return r.rule + " " + strings.Join(r.locks, " ") }
