//go:build unix

package app

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// Only its owner can read a recording, even if it replaces a file that others could read. Pipes and
// devices such as /dev/null keep their mode.
func TestRecordingRestrictsOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	must.Succeed(t, syscall.Mkfifo(pipe, 0o666))
	must.Succeed(t, os.WriteFile(file, []byte("old"), 0o600))
	reader := must.Have(os.OpenFile(pipe, os.O_RDWR, 0))(t) // or opening it for writing would block
	defer reader.Close()
	for path, want := range map[string]os.FileMode{pipe: 0o666, file: 0o600} {
		must.Succeed(t, os.Chmod(path, 0o666)) // regardless of the umask
		w := must.Have(CreateRecording(path, true))(t)
		if info, err := w.Stat(); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		w.Close()
	}
}

func TestRecordingDoesNotReplaceLinkedFiles(t *testing.T) {
	dir := t.TempDir()
	file, link, device := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "null")
	must.Succeed(t, os.WriteFile(file, []byte("theirs"), 0o600))
	for at, to := range map[string]string{link: file, device: os.DevNull} {
		must.Succeed(t, os.Symlink(to, at))
		w, err := CreateRecording(at, true)
		must.Equal(t, (err == nil), (at == device), at, err)
		w.Close()
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "theirs" {
		t.Errorf("%q, %v", text, err)
	}
}
