package widget

import (
	"strings"
	"testing"
)

func TestWrapBreaksAtBlanks(t *testing.T) {
	for _, test := range []struct {
		text     string
		width, n int
		want     string
	}{
		{"look at a-b-c-d now", 8, 5, "look at|a-b-c-d|now"},
		{"abcdefghij kl", 4, 5, "abcd|efgh|ij|kl"},
		{"abcdefghij kl", 4, 2, "abcd|efg…"},
		{"", 4, 2, ""},
		{"日本語 x", 4, 2, "日本|語 x"},
	} {
		if got := strings.Join(Wrap(test.text, test.width, test.n, "…"), "|"); got != test.want {
			t.Errorf("%q: %q instead of %q", test.text, got, test.want)
		}
	}
}
