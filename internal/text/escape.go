// Package text makes text safe to print and fits it into terminal cells. It is the only sanitiser
// of servers' text.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes text from a server safe and unambiguous to print. Printable UTF-8 stays, and a backslash is doubled.
// Characters that are invisible or steer a terminal (control, C1, bidi, zero-width and other format characters, line
// separators, private use, unassigned) become \u{HEX}, and bytes that are not UTF-8 become \xNN. Unescape reads it
// back.
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

// printable reports whether a rune is visible and has no side effects on the terminal.
func printable(r rune) bool {
	return unicode.IsGraphic(r) &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Unescape reverses Escape. It returns text without a backslash unchanged.
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

// unescapeOne reads the escape at the start of s; size is 0 if it is invalid.
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

// Printable makes text that is our own or already escaped safe to print. It keeps backslashes and
// escapes everything else as Escape does.
func Printable(text string) string {
	if !strings.Contains(text, `\`) {
		return Escape(text)
	}
	parts := strings.Split(text, `\`)
	for i := range parts {
		parts[i] = Escape(parts[i])
	}
	return strings.Join(parts, `\`)
}
