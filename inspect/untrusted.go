package inspect

import (
	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/internal/text"
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
	escaped := text.Escape(raw)
	if len(escaped) <= cells {
		return escaped // no character takes more cells than bytes
	}
	return ansi.Truncate(escaped, cells, "…")
}

// Escape makes text from a server safe and unambiguous to print: printable UTF-8 stays, a backslash is doubled,
// characters that are invisible or steer a terminal (control, C1, bidi, zero-width and other format characters,
// line separators, private use, unassigned) become \u{HEX}, and bytes that are no UTF-8 become \xNN. Unescape reads
// it back.
func Escape(s string) string { return text.Escape(s) }

// Unescape reads what Escape wrote. Text without a backslash is returned unchanged.
func Unescape(s string) (string, error) { return text.Unescape(s) }

// MarshalText is the escaped form, so that JSON holds nothing else.
func (u Untrusted) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads the escaped form.
func (u *Untrusted) UnmarshalText(escaped []byte) error {
	raw, err := Unescape(string(escaped))
	*u = Untrusted(raw)
	return err
}
