package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/internal/text"
)

// ID names a lock: a backend's name and, raw as on the server, the path or key.
type ID struct{ Backend, Path string }

// ErrSyntax is wrapped by every error about a LOCK argument that cannot be read.
var ErrSyntax = errors.New("not a lock name")

// ParseID reads BACKEND:PATH as String writes it; the first colon separates.
func ParseID(s string) (ID, error) {
	backend, path, ok := strings.Cut(s, ":")
	if !ok || backend == "" || path == "" {
		return ID{}, fmt.Errorf("%q is %w: write BACKEND:PATH, such as zk:/locks/orders or redis:lock:orders",
			s, ErrSyntax)
	}
	raw, err := Unescape(path)
	if err != nil {
		return ID{}, fmt.Errorf("%q is %w: %w", s, ErrSyntax, err)
	}
	return ID{Backend: backend, Path: raw}, nil
}

// String is BACKEND:PATH with the path escaped; ParseID reads it back.
func (id ID) String() string { return id.Backend + ":" + Escape(id.Path) }

// Compare orders IDs by backend, then by path.
func (id ID) Compare(other ID) int {
	if c := cmp.Compare(id.Backend, other.Backend); c != 0 {
		return c
	}
	return cmp.Compare(id.Path, other.Path)
}

// MarshalText returns the form of String; empty for no lock.
func (id ID) MarshalText() ([]byte, error) {
	if id == (ID{}) {
		return []byte{}, nil
	}
	return []byte(id.String()), nil
}

// UnmarshalText reads it back; unlike ParseID it takes an empty backend or path.
func (id *ID) UnmarshalText(text []byte) error {
	backend, path, ok := strings.Cut(string(text), ":")
	if !ok && len(text) > 0 {
		return fmt.Errorf("%q is %w: it has no colon", text, ErrSyntax)
	}
	raw, err := Unescape(path)
	*id = ID{Backend: backend, Path: raw}
	return err
}

// SessionID is a ZooKeeper session id as its tools write it, 0x and the hex digits of the unsigned value; empty for
// none.
func SessionID(id int64) string {
	if id == 0 {
		return ""
	}
	return "0x" + strconv.FormatUint(uint64(id), 16)
}

// Untrusted is text that came from a server: any bytes. Whatever prints it gets its escaped form, since its String
// method escapes; Raw has the bytes, for comparing with servers only.
type Untrusted string

// String is the text escaped by Escape.
func (u Untrusted) String() string { return Escape(string(u)) }

// Raw is the unescaped text of the server. Never print it.
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
// line separators, private use, unassigned) become \u{HEX}, and bytes that are not UTF-8 become \xNN. Unescape reads
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
