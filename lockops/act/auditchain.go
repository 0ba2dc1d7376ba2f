package act

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Every line ends with its own sum, and names the sum of the previous line. An edited line no
// longer matches its sum. If a line was removed, inserted or moved, the next one names a different
// sum. A user who can write to the file can rewrite all of it. Missing last lines leave no trace,
// unless the last sum was noted elsewhere.

// The end of a line, around its sum.
const (
	sumBefore = `,"sum":"`
	sumAfter  = `"}`
	sumLength = 2 * sha256.Size
)

// sealed returns the text of a line with its sum, without the line end.
func sealed(l line) []byte {
	text, _ := json.Marshal(l) // never fails: texts, numbers and the time now
	return append(text[:len(text)-1], sumBefore+digestOf(text)+sumAfter...)
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// sumOf returns the sum that a line ends with; ok if it matches the line.
func sumOf(text []byte) (sum string, ok bool) {
	tail := len(sumBefore) + sumLength + len(sumAfter)
	if len(text) < tail+1 {
		return "", false
	}
	body, end := text[:len(text)-tail], string(text[len(text)-tail:])
	if !strings.HasPrefix(end, sumBefore) || !strings.HasSuffix(end, sumAfter) {
		return "", false
	}
	sum = end[len(sumBefore) : len(sumBefore)+sumLength]
	return sum, digestOf(append(bytes.Clone(body), '}')) == sum
}

// linkOf returns what the next line links to: the line's sum or, without one, the digest of its
// text.
func linkOf(text []byte) string {
	if sum, _ := sumOf(text); sum != "" {
		return sum
	}
	return digestOf(text)
}

// chain checks the lines of a trail in order.
type chain struct {
	before string // what the next line has to name
	begun  bool   // a line was checked
}

// broken checks the next line, and returns its problem, if any.
func (c *chain) broken(text []byte, prev *string) string {
	sum, own := sumOf(text)
	before, begun := c.before, c.begun
	c.before, c.begun = linkOf(text), true
	switch {
	case sum == "":
		return "it has no sum: it was cut, edited, or written by another program"
	case !own:
		return "it was changed since it was written"
	case prev == nil:
		return "it does not name the previous line"
	case !begun && *prev != "":
		return "lines before it are missing"
	case begun && *prev != before:
		return "it followed a different line when it was written"
	}
	return ""
}

// current opens and locks the file at the path, since logrotate or a user may have moved the one
// that was open. unlock is never nil.
func (a *Audit) current() (unlock func(), err error) {
	for {
		unlock = LockFile(a.file)
		held, err := a.file.Stat()
		if err != nil { // it was closed
			return unlock, fmt.Errorf("audit: %w", err)
		}
		if at, err := os.Lstat(a.path); err == nil && os.SameFile(at, held) {
			return unlock, nil
		}
		unlock()
		next, err := openAuditFile(a.path)
		if err != nil {
			return func() {}, err
		}
		a.file.Close()
		a.file = next
	}
}

// lastLink returns the link for the next line. cut means that the last line lacks its end.
func (a *Audit) lastLink() (link string, cut bool, err error) {
	last, cut, err := lastLine(a.file)
	if err != nil || last == nil {
		return "", cut, err
	}
	return linkOf(last), cut, nil
}

// lastLine returns the last line of a file without its line end, or nil. cut means that the line
// end is missing.
func lastLine(f *os.File) (text []byte, cut bool, err error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return nil, false, err
	}
	for room := int64(64 << 10); ; room *= 2 {
		tail := make([]byte, min(room, info.Size()))
		if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
			return nil, false, err
		}
		cut = tail[len(tail)-1] != '\n'
		lines := bytes.TrimRight(tail, "\n")
		start := bytes.LastIndexByte(lines, '\n') + 1
		if start == 0 && int64(len(tail)) < info.Size() && room < maxAuditLine {
			continue
		}
		if len(lines) == 0 {
			return nil, cut, nil
		}
		return lines[start:], cut, nil
	}
}

// openAuditFile opens the file for appending, and creates it if it is missing.
func openAuditFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	f, err := openNoFollow(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, auditMode)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	if err := own(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("audit: %w", err)
	}
	return f, nil
}
