// Package zkpath knows which paths a znode can have.
package zkpath

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lockscope/lockscope/internal/text"
)

// Check returns why no znode can have a path, by the servers' rules (ZooKeeper,
// PathUtils.validatePath), or nil. The error's text is escaped.
func Check(path string) error {
	switch {
	case !strings.HasPrefix(path, "/"):
		return errors.New("it does not begin with a slash")
	case path == "/":
		return nil
	case strings.HasSuffix(path, "/"):
		return errors.New("it ends in a slash")
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		switch name {
		case "":
			return errors.New("it has an empty name between two slashes")
		case ".", "..":
			return fmt.Errorf("it has the relative name %s", name)
		}
	}
	for i, r := range path {
		if refused(r) {
			_, width := utf8.DecodeRuneInString(path[i:])
			return fmt.Errorf("no name may have the character %s", text.Escape(path[i:i+width]))
		}
	}
	return nil
}

// refused reports whether the servers refuse a character: control characters, surrogates, private use and
// specials. Bytes that are not UTF-8 reach them as a special, and characters above 0xffff as two surrogates.
func refused(r rune) bool {
	return r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0
}
