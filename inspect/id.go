package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ID names a lock: a backend's name and, raw as on the server, the path or key.
type ID struct{ Backend, Path string }

// ErrSyntax is wrapped by every error about a LOCK argument that cannot be read.
var ErrSyntax = errors.New("not a lock name")

// ParseID reads BACKEND:PATH as String writes it; the first colon separates.
func ParseID(s string) (ID, error) {
	backend, path, ok := strings.Cut(s, ":")
	if !ok || backend == "" || path == "" {
		return ID{}, fmt.Errorf("%q is %w: write BACKEND:PATH, such as zk:/locks/orders or redis:lock:orders", s, ErrSyntax)
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
