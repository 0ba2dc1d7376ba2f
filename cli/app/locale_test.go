package app

import (
	"strings"
	"testing"
)

// A character split over two writes is still one character.
func TestWriterJoinsSplitCharacters(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := &asciiWriter{Writer: &out}
	for _, b := range []byte("a→ö\xffb\n") {
		if n, err := w.Write([]byte{b}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := out.String(), "a>\\u{f6}\xffb\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
