package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recording"
)

// saveFile writes text to a new file that only its owner may read, in the working directory or, where that
// cannot be written to, in the one for temporary files. It is named after what it is about and the time:
// lockscope-zk-locks-orders-20260504T120000Z.md.
func (a *app) saveFile(ctx context.Context, about, extension, text string) (path string, err error) {
	return a.writeFile(ctx, about, extension, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// writeFile makes a new file for write to fill; what it could not fill whole it removes.
func (a *app) writeFile(ctx context.Context, about, extension string, write func(io.Writer) error) (path string, err error) {
	name := fileName(about, a.Now()) + extension
	var file *os.File
	var errs []error
	for _, dir := range []string{".", os.TempDir()} {
		if path, err = filepath.Abs(filepath.Join(dir, name)); err == nil {
			file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
		if err == nil {
			break
		}
		errs = append(errs, err)
	}
	if file == nil {
		return "", errors.Join(errs...)
	}
	err = write(file)
	if err == nil {
		err = ctx.Err()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}

// savePast writes what a screen has kept of the past, in the place of saveFile.
func (a *app) savePast(ctx context.Context, past *inspect.Past) (path string, err error) {
	return a.writeFile(ctx, "past", ".jsonl", func(w io.Writer) error {
		return recording.Save(w, func(yield func(time.Time, inspect.Update) bool) {
			for at, u := range recording.Updates(past) {
				if ctx.Err() != nil || !yield(at, u) {
					return
				}
			}
		})
	})
}

// fileName is a name that every file system takes, whatever the lock is called.
func fileName(about string, at time.Time) string {
	const longest = 80
	var b strings.Builder
	for _, r := range about {
		switch {
		case b.Len() == longest:
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return fmt.Sprintf("lockscope-%s-%s", strings.Trim(b.String(), "-"), at.UTC().Format("20060102T150405.000Z"))
}

// noClipboard is the reason why a terminal is known to drop what programs put into the clipboard (OSC 52);
// empty where it may take it. Whether it does cannot be asked of most.
func noClipboard(getenv func(string) string) string {
	term := getenv("TERM")
	switch {
	case term == "" || term == "dumb" || term == "linux" || strings.HasPrefix(term, "vt"):
		return "a terminal of type " + fmt.Sprintf("%q", term) + " has no clipboard"
	case strings.HasPrefix(term, "screen") && getenv("TMUX") == "":
		return "GNU screen passes no clipboard on"
	case getenv("TERM_PROGRAM") == "Apple_Terminal":
		return "Apple's Terminal has no clipboard for programs"
	default:
		return ""
	}
}
