package widget

import (
	"strings"
	"testing"
)

func TestWrapOfWideCharacters(t *testing.T) {
	t.Parallel()
	for width := -3; width <= 6; width++ {
		for _, text := range []string{"漢字漢字", "a漢b字c", "👩‍👩‍👧x👩‍👩‍👧", strings.Repeat("漢", 5_000)} {
			lines := Wrap(text, width, 8, "~")
			if len(lines) > 8 {
				t.Errorf("%d lines", len(lines))
			}
			if width < 2 {
				continue // no wide character fits
			}
			if whole := strings.Join(lines, ""); len(text) < 100 && len(lines) < 8 && whole != text {
				t.Errorf("width %d: %q became %q", width, text, lines)
			}
		}
	}
}

// cells are the text on a terminal, one cell after the other.
