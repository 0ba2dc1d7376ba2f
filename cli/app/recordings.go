package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recording"
)

// OpenRecording returns the recording in a file as a source.
func (a *App) OpenRecording(path string, options ...recording.Option) (*recording.Replay, error) {
	played, err := recording.Open(a.Now, path, options...)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, Usagef("recording %s: no such file (make one with: lockscope record FILE TARGET)", path)
	case errors.Is(err, recording.ErrFormat):
		return nil, Usagef("%w", err)
	case err != nil: // a directory, or one that may not be read
		return nil, Usagef("%w (name a file that lockscope record made)", err)
	}
	return played, nil
}

// LookAtRecording returns the last state of a recording, with its history.
func (a *App) LookAtRecording(path string) (*inspect.Snapshot, error) {
	return a.played(path, (*recording.Replay).All)
}

// LookAtMoment returns the state of a recording at a time since its beginning.
func (a *App) LookAtMoment(path string, at time.Duration) (*inspect.Snapshot, error) {
	return a.played(path, func(r *recording.Replay, emit func(inspect.Update)) error { return r.To(at, emit) })
}

func (a *App) played(path string, play func(*recording.Replay, func(inspect.Update)) error) (*inspect.Snapshot, error) {
	played, err := a.OpenRecording(path, recording.Speed(0), recording.Kept())
	if err != nil {
		return nil, err
	}
	observer := a.Diagnosing(played.Now, played)
	if err := observer.Play(func(emit func(inspect.Update)) error { return play(played, emit) }); err != nil {
		return nil, err
	}
	if played.Cut() {
		a.Say("recording %s ends in the middle of an update: the recorder was stopped", path)
	}
	return observer.Snapshot(), nil
}

// CreateRecording creates the file of a recording, readable by its owner only.
func CreateRecording(path string, replace bool) (*os.File, error) {
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if replace {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		if linked(path) {
			return nil, Usagef("%s is a symbolic link to a file (name that file)", path)
		}
	}
	file, err := os.OpenFile(path, mode, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		return nil, Usagef("%s already exists (name another file, or use --force to replace it)", path)
	case err != nil:
		return nil, Usagef("%w", err)
	}
	if err := forOwner(file); err != nil {
		file.Close()
		return nil, Usagef("%w", err)
	}
	return file, nil
}

// linked reports whether a path is a symbolic link to a regular file, which another user may
// have made. Links to a pipe or device do not count, nor do the system's own, such as /dev/stdout.
func linked(path string) bool {
	at, err := os.Lstat(path)
	if err != nil || at.Mode()&os.ModeSymlink == 0 || strings.HasPrefix(path, "/dev/") {
		return false
	}
	to, err := os.Stat(path)
	return err == nil && to.Mode().IsRegular()
}

// Packed returns a writer that compresses as the file's extension says. Without a known extension a
// regular file is compressed, and a pipe gets text. Close leaves the file open.
func Packed(path string, regular bool, file io.Writer) (io.WriteCloser, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".zst":
		return recording.Pack(file)
	case ".jsonl", ".json", ".ndjson":
		return plain{file}, nil
	}
	if regular {
		return recording.Pack(file)
	}
	return plain{file}, nil
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// forOwner removes others' rights from a file that is replaced, but not from a pipe or device such
// as /dev/null.
func forOwner(file *os.File) error {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return file.Chmod(0o600)
}

// IsRegular reports whether a file is neither a pipe nor a device.
func IsRegular(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode().IsRegular()
}

// FileName returns a name, valid on every file system, for a file about a lock.
func FileName(about string, at time.Time) string {
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
