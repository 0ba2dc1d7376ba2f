package app

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// asciiSigns maps each symbol of our own texts to an ASCII character of the same width.
var asciiSigns = map[rune]byte{
	'…': '~', '·': '-', '–': '-', '→': '>', '≤': '<', '≥': '>', '²': '2',
	'●': '*', '○': 'o', '◐': '%', '✖': 'X', '⇢': '>', '⇠': '-', '⇥': '-', '─': '-', '└': '`',
}

// asciiWriter writes text for a locale without UTF-8: our symbols in ASCII, everything else escaped
// as inspect.Escape does.
type asciiWriter struct {
	io.Writer
	mu  sync.Mutex
	cut []byte // the incomplete character at the end of the last write
}

func (w *asciiWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := slices.Concat(w.cut, p)
	var b strings.Builder
	for len(text) > 0 && utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		sign, ours := asciiSigns[r]
		switch {
		case ours:
			b.WriteByte(sign)
		case r < utf8.RuneSelf || size == 1:
			b.WriteByte(text[0])
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
		text = text[size:]
	}
	w.cut = text
	if _, err := io.WriteString(w.Writer, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Direct returns the writer without translation to ASCII, for programs that we start.
func Direct(w io.Writer) io.Writer {
	if w, ok := w.(*asciiWriter); ok {
		return w.Writer
	}
	return w
}

// ForPeople returns w, or a writer that translates to ASCII if the locale is not UTF-8.
func (e Environment) ForPeople(w io.Writer) io.Writer {
	if SpeaksUTF8(e.Getenv) {
		return w
	}
	return &asciiWriter{Writer: w}
}

// texts are the output formats for people. The others, and the output of makesFile, are for
// programs and stay UTF-8.
var texts = []string{"text", "table", "wide", "tree"}

func makesFile(cmd *cobra.Command) bool {
	return slices.Contains([]string{"man", "example", "completion"}, cmd.Name()) ||
		cmd.HasParent() && cmd.Parent().Name() == "completion"
}

// SpeakLocale makes a command print ASCII for people if the locale is not UTF-8.
func (a *App) SpeakLocale(cmd *cobra.Command) {
	form := cmd.Flags().Lookup("output")
	if !makesFile(cmd) && (form == nil || slices.Contains(texts, form.Value.String())) {
		a.Stdout = a.ForPeople(a.Stdout)
	}
}

// SpeaksUTF8 reports whether the locale is UTF-8, which the screen's glyphs need.
func SpeaksUTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := getenv(name); value != "" {
			value = strings.ToUpper(value)
			return strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8")
		}
	}
	return getenv("TERM") != "linux" // without a locale, as in a container, most terminals use UTF-8
}
