// Package app has the code that the commands share: flags and targets, observing, messages, and
// exit codes.
package app

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"github.com/lockscope/lockscope/inspect/describe"
)

// Environment is what the program gets from outside, so that tests can replace it.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Now            func() time.Time
	// Syslog is the socket of syslog; empty means the system's.
	Syslog string
}

// OS is the environment of the running process.
func OS() Environment {
	return Environment{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now}
}

// App is one run of the program.
type App struct {
	Environment
	Options
}

// Options are the global flags.
type Options struct {
	Profile    string
	ConfigFile string
	Timeout    time.Duration
	Budget     string
	StuckAfter time.Duration
	Via        string
	Write      bool
	NoColor    bool
	Linear     bool
}

// mostSaid limits a line, in cells: servers may answer with a megabyte.
const mostSaid = 4096

// Say prints a line on standard error, with everything a terminal could act on escaped.
func (a *App) Say(format string, args ...any) {
	text := describe.Printable(fmt.Sprintf(format, args...))
	fmt.Fprintln(a.Stderr, "lockscope: "+ansi.Truncate(text, mostSaid, "…"))
}

// Terminal returns the width of w in cells; ok is false when w is not a terminal.
func Terminal(w any) (width int, ok bool) {
	if out, isWriter := w.(io.Writer); isWriter {
		w = Direct(out)
	}
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(f.Fd()) {
		return 0, false
	}
	width, _, err := term.GetSize(f.Fd())
	if err != nil || width <= 0 {
		return 80, true
	}
	return width, true
}

// Width returns the width of standard output in cells; 0 means no limit, as in a pipe.
func (a *App) Width() int {
	width, _ := Terminal(a.Stdout)
	return width
}
