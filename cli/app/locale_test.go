package app

import (
	"strings"
	"testing"
)

// A terminal without UTF-8 gets ASCII: a likeness, else the code point. A character split over two writes is still one
// character. A byte that is not UTF-8 stays.
func TestASCIIWriterJoinsSplitCharacters(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := &asciiWriter{Writer: &out}
	for _, b := range []byte("a→ö\xffb\n") {
		if n, err := w.Write([]byte{b}); n != 1 || err != nil {
			t.Fatalf("%d bytes written: %v", n, err)
		}
	}
	if got, want := out.String(), "a>\\u{f6}\xffb\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
