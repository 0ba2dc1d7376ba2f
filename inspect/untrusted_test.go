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
		if got, err := Unescape(s); err == nil {
			t.Errorf("Unescape(%s) = %q", s, got)
		}
	}
}

func TestCutFitsTheCells(t *testing.T) {
	for _, raw := range []string{"plain name", "鍵鍵鍵鍵鍵鍵", strings.Repeat("\x1b", 100), strings.Repeat("x", 1<<20)} {
		for _, cells := range []int{1, 5, 9} {
			if w := ansi.StringWidth(Untrusted(raw).Cut(cells)); w > cells {
				t.Errorf("%.20q cut to %d cells is %d cells wide", raw, cells, w)
			}
		}
	}
}

func TestParseID(t *testing.T) {
	for _, tt := range []struct{ text, backend, path string }{
		{"zk:/locks/orders", "zk", "/locks/orders"},
		{"redis:lock:orders", "redis", "lock:orders"},
		{`redis:a\u{1b}\xff\\`, "redis", "a\x1b\xff\\"},
	} {
		id, err := ParseID(tt.text)
		if err != nil || id != (ID{tt.backend, tt.path}) || id.String() != tt.text {
			t.Errorf("ParseID(%s) = %v, %v", tt.text, id, err)
		}
	}
	for _, bad := range []string{"", "zk", "zk:", ":x", `zk:\q`} {
		if id, err := ParseID(bad); err == nil {
			t.Errorf("ParseID(%q) = %v", bad, id)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\x1b[31m\\u{1b}\xff\u202e")
	f.Fuzz(func(t *testing.T, raw string) {
		safe := Escape(raw)
		if back, err := Unescape(safe); err != nil || back != raw {
			t.Errorf("%q escaped to %s, which reads back as %q, %v", raw, safe, back, err)
		}
		if !utf8.ValidString(safe) {
			t.Errorf("%q escaped to invalid UTF-8 %q", raw, safe)
		}
		for _, r := range safe {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Errorf("%q escaped to %q, which contains %U", raw, safe, r)
			}
		}
		if w := ansi.StringWidth(Untrusted(raw).Cut(12)); w > 12 {
			t.Errorf("%q cut to 12 cells is %d cells wide", raw, w)
		}
	})
}
