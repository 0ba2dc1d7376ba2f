package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// ascii has a sign of ASCII, one cell wide like it, for each sign of our own texts; those of the screen in such a locale are alike.
var ascii = strings.NewReplacer(
	"…", "~", "·", "-", "–", "-", "→", ">", "≤", "<", "≥", ">", "²", "2",
	"●", "*", "○", "o", "◐", "%", "✖", "X", "⇢", ">", "⇠", "-", "⇥", "-", "─", "-", "└", "`",
)

// asciiWriter writes texts for a locale without UTF-8. Other letters, which come from servers, stay as they are: a name is pasted into
// commands.
type asciiWriter struct{ io.Writer }

func (w asciiWriter) Write(p []byte) (int, error) {
	if _, err := ascii.WriteString(w.Writer, string(p)); err != nil {
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
	a.Stdout = asciiWriter{a.Stdout}
}
