package main

import (
	"context"
	"fmt"
	"image/color"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// quiet is the silence after which a frame counts as complete on an idle machine. The program
// writes each frame at once.
const quiet = 60 * time.Millisecond

// window has the terminal's own colours, for cells without a colour and for answers to queries.
type window struct{ background, foreground, border, title color.RGBA }

func dark() window {
	return window{
		background: color.RGBA{0x16, 0x1a, 0x21, 0xff}, foreground: color.RGBA{0xd7, 0xdb, 0xe2, 0xff},
		border: color.RGBA{0x34, 0x3b, 0x48, 0xff}, title: color.RGBA{0x8b, 0x93, 0xa1, 0xff},
	}
}

func light() window {
	return window{
		background: color.RGBA{0xfd, 0xfd, 0xfb, 0xff}, foreground: color.RGBA{0x24, 0x29, 0x2f, 0xff},
		border: color.RGBA{0xc8, 0xcd, 0xd4, 0xff}, title: color.RGBA{0x6b, 0x73, 0x7e, 0xff},
	}
}

// terminal is the program in a pseudo-terminal, seen through a terminal emulator.
type terminal struct {
	window
	cmd      *exec.Cmd
	tty      *os.File
	home     string
	quietFor time.Duration // silence after which a frame counts as whole
	tasks    sync.WaitGroup
	ended    chan struct{} // closed when the program's output has ended

	mu      sync.Mutex
	screen  *vt.Emulator
	changed chan struct{}
}

// start runs the program with an empty home directory, so that no user's configuration shows in a
// picture.
func start(program string, args []string, p picture, quietFor time.Duration) (*terminal, error) {
	home, err := os.MkdirTemp("", "lockscope-screenshots-")
	if err != nil {
		return nil, err
	}
	t := &terminal{
		window: dark(), home: home, quietFor: quietFor, screen: vt.NewEmulator(p.width, p.height),
		ended: make(chan struct{}), changed: make(chan struct{}, 1),
	}
	if p.light {
		t.window = light()
	}
	t.screen.SetDefaultBackgroundColor(t.background)
	t.screen.SetDefaultForegroundColor(t.foreground)
	t.cmd = exec.Command(program, args...)
	t.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "TZ=UTC",
	}, p.env...)
	t.tty, err = pty.StartWithSize(t.cmd, &pty.Winsize{Cols: uint16(p.width), Rows: uint16(p.height)})
	if err != nil {
		os.RemoveAll(home)
		return nil, err
	}
	t.tasks.Go(t.read)
	t.tasks.Go(func() { io.Copy(t.tty, t.screen) }) // the terminal's answers to the program's queries
	return t, nil
}

func (t *terminal) read() {
	defer close(t.ended)
	buf := make([]byte, 1<<16)
	for {
		n, err := t.tty.Read(buf)
		if err != nil {
			return
		}
		t.mu.Lock()
		t.screen.Write(buf[:n])
		t.mu.Unlock()
		select {
		case t.changed <- struct{}{}:
		default:
		}
	}
}

// close ends the program and waits for everything that belongs to it.
func (t *terminal) close() {
	t.cmd.Process.Signal(os.Interrupt)
	select {
	case <-t.ended:
	case <-time.After(10 * time.Second):
		t.cmd.Process.Kill()
	}
	t.cmd.Wait()
	if c, ok := t.screen.InputPipe().(io.Closer); ok {
		c.Close()
	}
	t.tty.Close()
	t.tasks.Wait()
	os.RemoveAll(t.home)
}

func (t *terminal) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.String()
}

// await waits until a complete frame satisfies ok.
func (t *terminal) await(ctx context.Context, what string, ok func(screen string) bool) error {
	for {
		var whole <-chan time.Time // never, unless the screen is as wanted
		if ok(t.text()) {
			whole = time.After(t.quietFor)
		}
		select {
		case <-whole:
			return nil
		case <-t.changed:
		case <-t.ended:
			return fmt.Errorf("the program ended before %s was on the screen:\n%s", what, t.text())
		case <-ctx.Done():
			return fmt.Errorf("%w: no %s on the screen:\n%s", ctx.Err(), what, t.text())
		}
	}
}
