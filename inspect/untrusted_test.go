package inspect

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/internal/must"
)

func TestEscape(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{"/locks/orders", "/locks/orders"},
		{"größe 鍵 ●", "größe 鍵 ●"},
		{`C:\x`, `C:\\x`},
		{"a\x1b[2Jb", `a\u{1b}[2Jb`},
		{"\r\n\t\a\x7f", `\u{d}\u{a}\u{9}\u{7}\u{7f}`},
		{"\u009b31m", `\u{9b}31m`},
		{"a\u202eb\u200bc\ufeff", `a\u{202e}b\u{200b}c\u{feff}`},
		{"\u2028\ue000\U000e0041", `\u{2028}\u{e000}\u{e0041}`},
		{"\ufe0f\u3164\u034f", `\u{fe0f}\u{3164}\u{34f}`},
		{"\xff\xc3(", `\xff\xc3(`},
		{"\ufffd", "\ufffd"},
	} {
		must.Equal(t, Escape(tt.raw), tt.want)
	}
}

func TestUnescapeAcceptsOnlyEscapeOutput(t *testing.T) {
	for _, s := range []string{`\`, `\n`, `\x1`, `\xg0`, `\u{}`, `\u{110000}`, `\u{d800}`, `\u{41`, `\u41`, `a\`} {
		got, err := Unescape(s)
		must.True(t, err != nil, s, "is", got)
	}
}

func TestCutFitsTheCells(t *testing.T) {
	must.Equal(t, Untrusted("12345").Cut(5), "12345")
	must.Equal(t, Untrusted("123456").Cut(5), "1234…")
	for _, raw := range []string{"plain name", "鍵鍵鍵鍵鍵鍵", strings.Repeat("\x1b", 100), strings.Repeat("x", 1<<20)} {
		for _, cells := range []int{1, 5, 9} {
			cut := Untrusted(raw).Cut(cells)
			must.True(t, ansi.StringWidth(cut) <= cells, cut, "does not fit", cells, "cells")
		}
	}
}

func TestParseID(t *testing.T) {
	for _, tt := range []struct{ text, backend, path string }{
		{"zk:/locks/orders", "zk", "/locks/orders"},
		{"redis:lock:orders", "redis", "lock:orders"},
		{`redis:a\u{1b}\xff\\`, "redis", "a\x1b\xff\\"},
	} {
		id := must.Have(ParseID(tt.text))(t)
		must.Equal(t, id, ID{tt.backend, tt.path}, tt.text)
		must.Equal(t, id.String(), tt.text)
	}
	for _, bad := range []string{"", "zk", "zk:", ":x", `zk:\q`} {
		_, err := ParseID(bad)
		must.Be(t, err, ErrSyntax, bad)
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\x1b[31m\\u{1b}\xff\u202e")
	f.Fuzz(func(t *testing.T, raw string) {
		safe := Escape(raw)
		must.Equal(t, must.Have(Unescape(safe))(t), raw, safe)
		must.True(t, utf8.ValidString(safe), safe, "is invalid UTF-8")
		for _, r := range safe {
			must.True(t, !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r), safe, "contains", r)
		}
		must.True(t, ansi.StringWidth(Untrusted(raw).Cut(12)) <= 12, safe, "does not fit 12 cells")
	})
}
