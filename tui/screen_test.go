package tui

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/vt"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// terminal is an in-process terminal for a whole program.
type terminal struct {
	mu       sync.Mutex
	emulator *vt.Emulator
	bytes    int
	drawn    time.Time // the latest output
}

// Write receives the program's output.
func (s *terminal) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn = time.Now()
	s.bytes += len(p)
	return s.emulator.Write(p)
}

func (s *terminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emulator.String()
}

func (s *terminal) lastDrawn() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drawn
}

func (s *terminal) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// program is a running program with its terminal.
type program struct {
	t        testing.TB
	screen   *terminal
	feed     fakeFeed
	keyboard io.Writer
	tea      *tea.Program
	// end stops the program and waits until it has ended.
	end func()
}

// start runs a program on its own terminal until the test ends.
func start(t testing.TB, o Options, width, height int) *program {
	t.Helper()
	p := &program{t: t, screen: &terminal{emulator: vt.NewEmulator(width, height)}, feed: make(fakeFeed)}
	_, _ = p.screen.Write([]byte("\x1b[20h")) // no tty turns LF into CRLF here
	keys, keyboard := io.Pipe()
	p.keyboard = keyboard
	var copying sync.WaitGroup
	copying.Go(func() { _, _ = io.Copy(keyboard, p.screen.emulator) }) // the terminal's answers
	o.Feed = p.feed
	o = plain(o)
	ctx, cancel := context.WithCancel(context.Background())
	m := New(ctx, o)
	p.tea = tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(keys), tea.WithOutput(p.screen), tea.WithWindowSize(width, height),
		tea.WithColorProfile(trueColor), tea.WithEnvironment([]string{"TERM=xterm-256color"}), tea.WithoutSignals(), tea.WithFPS(framesPerSecond))
	done := make(chan error, 1)
	go func() {
		_, err := p.tea.Run()
		done <- err
	}()
	p.end = sync.OnceFunc(func() {
		p.tea.Quit()
		must.Be(t, <-done, nil, "run")
		cancel()
		m.alive.Lock()
		_ = p.screen.emulator.InputPipe().(io.Closer).Close()
		_ = keys.Close()
		copying.Wait()
	})
	t.Cleanup(p.end)
	return p
}

func (p *program) show(s *inspect.Snapshot) { p.feed <- s }

func (p *program) keys(text string) {
	must.Have(io.WriteString(p.keyboard, text))(p.t)
}

// patience is generous, since other tests may keep the machine busy.
const patience = time.Minute

// wait waits until the screen shows all the texts.
func (p *program) wait(texts ...string) {
	p.t.Helper()
	p.await(fmt.Sprintf("shows %q", texts), func(screen string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) })
	})
}

// await waits until wanted accepts the screen.
func (p *program) await(what string, wanted func(screen string) bool) {
	p.t.Helper()
	seen := -1
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if n := p.screen.written(); n != seen { // reading the screen is expensive
			if seen = n; wanted(p.screen.text()) {
				return
			}
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the screen never %s:\n%s", what, p.screen.text())
		}
	}
}

// quiet waits until nothing has been drawn for a while.
func (p *program) quiet() {
	for last := -1; ; {
		n := p.screen.written()
		if n == last {
			return
		}
		last = n
		time.Sleep(100 * time.Millisecond) // there is no event to wait for
	}
}

// Cancelling the context ends the program without an error.
func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	keys, keyboard := io.Pipe()
	defer keyboard.Close()
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{Feed: make(fakeFeed)}, tea.WithInput(keys), tea.WithOutput(io.Discard), tea.WithWindowSize(80, 24), tea.WithoutSignals())
	}()
	cancel()
	must.Be(t, <-done, nil)
}

// countdown is a snapshot of n locks that expire.
func countdown(n int) *inspect.Snapshot {
	var locks []*inspect.Lock
	for i := range n {
		v := inspect.Vote{Addr: "10.2.1.1:6379", Up: true, Present: true, Value: "host-1", ExpiresAt: fixture.In(time.Duration(20+i) * time.Second)}
		locks = append(locks, inspect.KeyLock(fixture.Id(fmt.Sprintf("redis:lock:job-%02d", i)), []inspect.Vote{v}, fixture.Noon))
	}
	return snapshotOf(locks...)
}

// A tick must be cheap on a slow link: free if nothing changes, and small for thirty TTLs.
func TestBytesPerTick(t *testing.T) {
	t.Parallel()
	clock := struct {
		sync.Mutex
		now time.Time
	}{now: fixture.Noon}
	asked := make(chan struct{}, 1)
	p := start(t, Options{Now: func() time.Time {
		select {
		case asked <- struct{}{}:
		default:
		}
		clock.Lock()
		defer clock.Unlock()
		return clock.now
	}}, 95, 40) // the widest window without a chain below, so that all rows are visible
	p.show(countdown(30))
	p.wait("job-00", "job-29")
	p.quiet()
	before := p.screen.written()
	for len(asked) > 0 {
		<-asked
	}
	for range 2 {
		<-asked // a tick of the stopped clock; nothing else asks for the time now
		p.quiet()
	}
	must.Equal(t, p.screen.written()-before, 0, "bytes although nothing changed")
	clock.Lock()
	clock.now = fixture.In(time.Second)
	clock.Unlock()
	p.wait(" 19s", " 48s")
	p.quiet()
	n := p.screen.written() - before
	must.True(t, n <= 400, "a tick with 30 TTLs takes", n, "bytes")
	t.Logf("a tick with 30 TTLs takes %d bytes", n)
}

// A filter accepts letters that are keys of actions.
func TestCompactFilterTakesAllLetters(t *testing.T) {
	m := model(t, Options{}, 40, 12, fixture.Everything())
	keysShow(t, m, "/ axXAKmL8", "/ axXAKmL8")
	press(m, "esc")
	for _, key := range []string{"a", "x", "X", "A", "K", "m", "L", "8"} {
		keysShow(t, m, key, "window too small: it needs 80x24")
	}
}

// A screen or dialog that does not fit a compact window can be left with esc, however it was opened.
func TestEscLeavesOversizedScreens(t *testing.T) {
	m := opened(t, Options{Release: newFakeReleaser().of}, 80, 24, fixture.Orders().ID)
	run(t, m, press(m, "x"))
	must.True(t, m.HasDialog(), "no dialog")
	m.Update(tea.WindowSizeMsg{Width: 39, Height: 11})
	press(m, "esc")
	must.True(t, m.HasDialog(), "esc closed an invisible dialog")
	m.Update(tea.WindowSizeMsg{Width: 40, Height: 12})
	wantText(t, m, "at least 80x24", "esc goes back")
	press(m, "enter", "y")
	must.True(t, m.HasDialog(), "a key reached a dialog that is not drawn")
	press(m, "esc")
	must.True(t, !m.HasDialog(), "esc does not close it")
	wantNoText(t, m, "at least 80x24")
	goTo(m, screen.Lab, screen.Subject{})
	wantText(t, m, "esc goes back")
	keysHide(t, m, "esc", "at least 80x24")
}

func TestTicketMenuFitsCompactWindow(t *testing.T) {
	m := model(t, Options{}, 40, 12, fixture.Everything())
	keysShow(t, m, "Y", "Ticket of", "markdown", "json")
	keysHide(t, m, "esc", "Ticket of")
}

// A new message takes the place of the tour's line.
func TestMessagesComeBeforeTheTour(t *testing.T) {
	m := model(t, Options{Scenes: twoScenes()}, 40, 12, fixture.Everything())
	keysShow(t, m, "x", "window too small: it needs 80x24")
}

// Even the smallest window says that the screen is paused or shows the past, whatever else it has to say.
func TestCompactWindowShowsPaused(t *testing.T) {
	for _, o := range []Options{{}, {Sandbox: true}, {Sandbox: true, Replay: true, Environment: "production"}} {
		r := handedOverFor(t, o, 40, 12)
		keysShow(t, r.Model, "space", "PAUSED: space resumes")
		press(r.Model, "space")
		keysShow(t, r.Model, "[", " PAST ", "READ-ONLY")
	}
}
