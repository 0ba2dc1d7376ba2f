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

// ID names a lock: the backend's name, and the path or key, raw as on the server.
type ID struct{ Backend, Path string }

// ErrSyntax is wrapped by every error about a LOCK argument that cannot be parsed.
var ErrSyntax = errors.New("not a lock name")

// ParseID parses BACKEND:PATH as String writes it; the first colon separates.
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

// MarshalText returns the form of String; empty for the zero ID.
func (id ID) MarshalText() ([]byte, error) {
	if id == (ID{}) {
		return []byte{}, nil
	}
	return []byte(id.String()), nil
}

// UnmarshalText parses that form. Unlike ParseID it accepts an empty backend or path.
func (id *ID) UnmarshalText(text []byte) error {
	backend, path, ok := strings.Cut(string(text), ":")
	if !ok && len(text) > 0 {
		return fmt.Errorf("%q is %w: it has no colon", text, ErrSyntax)
	}
	raw, err := Unescape(path)
	*id = ID{Backend: backend, Path: raw}
	return err
}

// SessionID formats a ZooKeeper session id as its tools do: 0x and the hex digits of the unsigned
// value; empty for 0.
func SessionID(id int64) string {
	if id == 0 {
		return ""
	}
	return "0x" + strconv.FormatUint(uint64(id), 16)
}

// Untrusted is text from a server: any bytes. Printing it is safe, since its String method
// escapes. Raw returns the bytes, only for comparing with servers.
type Untrusted string

// String returns the text escaped by Escape.
func (u Untrusted) String() string { return Escape(string(u)) }

// Raw returns the server's text unescaped. Never print it.
func (u Untrusted) Raw() string { return string(u) }

// Cut returns the escaped text in at most that many terminal cells. If it does not fit, it ends in
// an ellipsis.
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

// Escape makes text from a server safe and unambiguous to print. Printable UTF-8 stays, and a
// backslash is doubled. Characters that are invisible or control a terminal (control, C1, bidi,
// zero-width and other format characters, line separators, private use, unassigned) become
// \u{HEX}. Bytes that are not UTF-8 become \xNN. Unescape reverses it.
func Escape(s string) string { return text.Escape(s) }

// Unescape reverses Escape. Text without a backslash is returned unchanged.
func Unescape(s string) (string, error) { return text.Unescape(s) }

// MarshalText returns the escaped form, the only one that JSON contains.
func (u Untrusted) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText parses the escaped form.
func (u *Untrusted) UnmarshalText(escaped []byte) error {
	raw, err := Unescape(string(escaped))
	*u = Untrusted(raw)
	return err
}
