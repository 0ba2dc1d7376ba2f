package cli

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"lockscope/inspect"
)

// ascii has a sign of ASCII, one cell wide like it, for each sign of our own texts; those of the screen in such a locale are alike.
var ascii = []string{
	"…", "~", "·", "-", "–", "-", "→", ">", "≤", "<", "≥", ">", "²", "2",
	"●", "*", "○", "o", "◐", "%", "✖", "X", "⇢", ">", "⇠", "-", "⇥", "-", "─", "-", "└", "`",
}

// asciiWriter writes texts for a locale without UTF-8. What comes from servers stays as it is, since a name is pasted into commands: other
// letters always, our signs in the names that were kept.
type asciiWriter struct {
	io.Writer
	kept *keptNames
}

// keptNames contain signs of ours, and are pasted into commands: replaced, they would name something else.
type keptNames struct {
	mu    sync.Mutex
	given []string // on the command line
	read  []string // from servers, for what is printed now
}

// keep replaces the names that were read from servers.
func (k *keptNames) keep(names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.read = names
}

// replacer leaves a name alone, and of two that begin alike the longer one.
func (k *keptNames) replacer() *strings.Replacer {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := slices.Concat(k.given, k.read)
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, name, name)
	}
	return strings.NewReplacer(append(pairs, ascii...)...)
}

// signed are those of the names that a replacement would change.
func signed(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(ascii, func(sign string) bool { return sign > "~" && strings.Contains(name, sign) })
	})
}

// givenNames are those of a command line: a lock stands there with its backend.
func givenNames(args []string) *keptNames {
	var names []string
	for _, arg := range args {
		_, path, _ := strings.Cut(arg, ":")
		names = append(names, signed(arg, path)...)
	}
	return &keptNames{given: names}
}

// contenderNames returns the names that a client gave itself.
func contenderNames(c *inspect.Contender) []string {
	o := &c.Owner
	var names []string
	for _, name := range []inspect.Untrusted{c.Name, o.Label, o.Host(), o.PID(), o.Thread(), o.LibraryID()} {
		names = append(names, name.String())
	}
	return signed(names...)
}

// lockNames are those of a lock and of what is in it.
func lockNames(l *inspect.Lock) []string {
	names := signed(inspect.Escape(l.ID.Path))
	for _, list := range [][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list {
			names = append(names, contenderNames(&list[i])...)
		}
	}
	for _, m := range l.Masters {
		names = append(names, signed(m.Value.String())...)
	}
	return names
}

// snapshotNames are those of all locks.
func snapshotNames(s *inspect.Snapshot) (names []string) {
	for l := range s.Locks() {
		names = append(names, lockNames(l)...)
	}
	return names
}

// keepNames has the names in what is read now stay as they are.
func (a *app) keepNames(snapshots ...*inspect.Snapshot) {
	if a.kept == nil {
		return
	}
	var names []string
	for _, s := range snapshots {
		if s != nil {
			names = append(names, snapshotNames(s)...)
		}
	}
	a.kept.keep(names)
}

// eventNames are those of an event and of its lock, which a finding's message may contain.
func eventNames(s *inspect.Snapshot, e inspect.Event) []string {
	names := signed(inspect.Escape(e.Lock.Path))
	for _, c := range []*inspect.Contender{e.Contender, e.Previous} {
		if c != nil {
			names = append(names, contenderNames(c)...)
		}
	}
	if l := s.Lock(e.Lock); l != nil && e.Finding != nil {
		names = append(names, lockNames(l)...)
	}
	return names
}

// keepEventNames is keepNames for the events that came with a snapshot.
func (a *app) keepEventNames(s *inspect.Snapshot) {
	if a.kept == nil {
		return
	}
	var names []string
	for _, e := range s.Events {
		names = append(names, eventNames(s, e)...)
	}
	a.kept.keep(names)
}

// writeLine writes a line in one piece: asciiWriter does not know a name that is cut by the end of a buffer.
func writeLine(b *bufio.Writer, line string) error {
	if b.Available() <= len(line) {
		if err := b.Flush(); err != nil {
			return err
		}
	}
	_, err := b.Write([]byte(line + "\n")) // what an empty buffer has no room for goes through it unbuffered
	return err
}

func (w asciiWriter) Write(p []byte) (int, error) {
	if _, err := w.kept.replacer().WriteString(w.Writer, string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// direct returns what a writer writes to in the end: for programs that we start, which know the locale themselves.
func direct(w io.Writer) io.Writer {
	if w, ok := w.(asciiWriter); ok {
		return w.Writer
	}
	return w
}

// texts are the forms of output for people. The others, and what makesFile prints, are for programs and stay UTF-8.
var texts = []string{"text", "table", "wide", "tree"}

func makesFile(cmd *cobra.Command) bool {
	return slices.Contains([]string{"man", "example", "completion"}, cmd.Name()) || cmd.HasParent() && cmd.Parent().Name() == "completion"
}

// speakLocale has what a command prints for people be ASCII where the locale is not UTF-8.
func (a *app) speakLocale(cmd *cobra.Command) {
	form := cmd.Flags().Lookup("output")
	if speaksUTF8(a.Getenv) || makesFile(cmd) || form != nil && !slices.Contains(texts, form.Value.String()) {
		return
	}
	a.Stdout = asciiWriter{a.Stdout, a.kept}
}
