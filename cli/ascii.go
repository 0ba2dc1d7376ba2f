package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// asciiSigns has a sign of ASCII, one cell wide like it, for each sign of our own texts.
var asciiSigns = map[rune]byte{
	'…': '~', '·': '-', '–': '-', '→': '>', '≤': '<', '≥': '>', '²': '2',
	'●': '*', '○': 'o', '◐': '%', '✖': 'X', '⇢': '>', '⇠': '-', '⇥': '-', '─': '-', '└': '`',
}

// asciiWriter writes texts for a locale without UTF-8: our signs in ASCII, all else escaped as
// inspect.Escape does with what a terminal cannot show.
type asciiWriter struct {
	io.Writer
	cut []byte // the beginning of a character that the last write ended in
}

func (w *asciiWriter) Write(p []byte) (int, error) {
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

// direct returns the writer below an asciiWriter, for programs that we start: they know the locale
// themselves.
func direct(w io.Writer) io.Writer {
	if w, ok := w.(*asciiWriter); ok {
		return w.Writer
	}
	return w
}

// texts are the forms of output for people. The others, and what makesFile prints, are for programs
// and stay UTF-8.
var texts = []string{"text", "table", "wide", "tree"}

func makesFile(cmd *cobra.Command) bool {
	return slices.Contains([]string{"man", "example", "completion"}, cmd.Name()) || cmd.HasParent() && cmd.Parent().Name() == "completion"
}

// speakLocale makes what a command prints for people ASCII where the locale is not UTF-8.
func (a *app) speakLocale(cmd *cobra.Command) {
	form := cmd.Flags().Lookup("output")
	if speaksUTF8(a.Getenv) || makesFile(cmd) || form != nil && !slices.Contains(texts, form.Value.String()) {
		return
	}
	a.Stdout = &asciiWriter{Writer: a.Stdout}
}
