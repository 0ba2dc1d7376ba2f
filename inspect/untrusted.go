package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Untrusted is text that came from a server: any bytes. Whatever prints it gets its escaped form, since its String
// method escapes; Raw has the bytes, for comparing with servers only.
type Untrusted string

// String is the text escaped by Escape.
func (u Untrusted) String() string { return Escape(string(u)) }

// Raw is the text as the server has it. Never print it.
func (u Untrusted) Raw() string { return string(u) }

// Cut is the escaped text in at most cells terminal cells, the last an ellipsis where something was cut off.
func (u Untrusted) Cut(cells int) string {
	raw := string(u)
	if limit := 4*cells + 16; limit >= 0 && len(raw) > limit {
		raw = raw[:limit] // enough to be cut by cells; the rest need not be escaped
	}
	text := Escape(raw)
	if len(text) <= cells {
		return text // no character takes more cells than bytes
	}
	return ansi.Truncate(text, cells, "…")
}

// Escape makes text from a server safe and unambiguous to print: printable UTF-8 stays, a backslash is doubled,
// characters that are invisible or steer a terminal (control, C1, bidi, zero-width and other format characters,
// line separators, private use, unassigned) become \u{HEX}, and bytes that are no UTF-8 become \xNN. Unescape reads
// it back.
func Escape(s string) string {
	plain := 0
	for plain < len(s) && s[plain] >= ' ' && s[plain] < 0x7f && s[plain] != '\\' {
		plain++
	}
	if plain == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:plain])
	for i := plain; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\\':
			b.WriteString(`\\`)
		case printable(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
		i += size
	}
	return b.String()
}

// printable says that a rune shows itself and nothing else.
func printable(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Unescape reads what Escape wrote. Text without a backslash is taken as it stands.
func Unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			i++
			continue
		}
		text, size := unescapeOne(s[i:])
		if size == 0 {
			return "", fmt.Errorf(`%q has a backslash that starts none of \\, \u{HEX} and \xNN (write a literal backslash as \\)`, s)
		}
		b.WriteString(text)
		i += size
	}
	return b.String(), nil
}

// unescapeOne reads the escape that s starts with; size 0 when it is none.
func unescapeOne(s string) (text string, size int) {
	switch {
	case strings.HasPrefix(s, `\\`):
		return `\`, 2
	case strings.HasPrefix(s, `\x`) && len(s) >= 4:
		if n, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
			return string([]byte{byte(n)}), 4
		}
	case strings.HasPrefix(s, `\u{`):
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return "", 0
		}
		n, err := strconv.ParseUint(s[3:end], 16, 32)
		if r := rune(n); err == nil && utf8.ValidRune(r) {
			return string(r), end + 1
		}
	}
	return "", 0
}

// MarshalText is the escaped form, so that JSON holds nothing else.
func (u Untrusted) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads the escaped form.
func (u *Untrusted) UnmarshalText(text []byte) error {
	raw, err := Unescape(string(text))
	*u = Untrusted(raw)
	return err
}
