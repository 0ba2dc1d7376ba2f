package describe

import (
	"errors"
	"testing"
)

// What several servers say is behind one another, and nothing of it reaches a terminal unescaped.
func TestSeveralErrorsAreOneLine(t *testing.T) {
	err := errors.Join(errors.New("master a: refused"), errors.New("master b: \x1b[31mred"))
	if got, want := OneLine(err), `master a: refused; master b: \u{1b}[31mred`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
