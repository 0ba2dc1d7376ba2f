//go:build unix

package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
)

type file struct {
	owner, group uint32
	mode         fs.FileMode
}

func (file) Name() string        { return "" }
func (file) Size() int64         { return 0 }
func (f file) Mode() fs.FileMode { return f.mode }
func (file) ModTime() time.Time  { return time.Time{} }
func (f file) IsDir() bool       { return f.mode.IsDir() }
func (f file) Sys() any          { return &syscall.Stat_t{Uid: f.owner, Gid: f.group} }

func TestFilesOfOthersAreNotTrusted(t *testing.T) {
	const nobody = 65534
	dir := func(owner uint32, mode fs.FileMode) file { return file{owner, 0, mode} }
	for name, tt := range map[string]struct {
		file, above file
		readOnly    bool
		says        string
	}{
		"own":                    {file: file{mode: 0o600, owner: 1000}, above: dir(1000, 0o700)},
		"root's":                 {file: file{mode: 0o644}, above: dir(0, 0o755)},
		"nobody's":               {file: file{mode: 0o600, owner: nobody}, above: dir(0, 0o755), says: "belongs to user 65534"},
		"writable":               {file: file{mode: 0o620, owner: 1000}, above: dir(0, 0o755), says: "mode 0620; chmod go-w it"},
		"in nobody's directory":  {file: file{mode: 0o600, owner: 1000}, above: dir(nobody, 0o755), says: "belongs to user 65534"},
		"in a writable one":      {file: file{mode: 0o600, owner: 1000}, above: dir(0, 0o777), says: "mode 0777"},
		"in a sticky one":        {file: file{mode: 0o600, owner: 1000}, above: dir(0, 0o777|fs.ModeSticky)},
		"in a read-only mount's": {file: file{mode: 0o644}, above: dir(0, 0o777), readOnly: true},
	} {
		u := user{
			id: 1000, readOnly: func(string) bool { return tt.readOnly },
			stat: func(path string) (fs.FileInfo, error) {
				if path == "/" {
					return dir(0, 0o755), nil
				}
				return tt.above, nil
			},
		}
		err := u.distrust(t.TempDir(), tt.file) // only its path matters
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
}

func TestAPodMayReadItsSecrets(t *testing.T) {
	pod := user{id: 65532, groups: []int{65532}}
	for _, tt := range []struct {
		file
		others bool
	}{
		{file{0, 65532, 0o440}, false},
		{file{65532, 65532, 0o400}, false},
		{file{0, 1000, 0o440}, true},
		{file{0, 65532, 0o444}, true},
		{file{0, 65532, 0o460}, true},
		{file{65532, 65532, 0o440}, true},
	} {
		must.Equal(t, pod.othersRead(tt.file), tt.others, tt.file, "readable by others")
	}
	if root := (user{groups: []int{65532}}); !root.othersRead(file{0, 65532, 0o440}) {
		t.Error("root accepted a secret that a group may read")
	}
}

func TestInsecureKeyFileIsRefused(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key.pem")
	must.Succeed(t, os.WriteFile(key, nil, 0o600))
	for mode, refused := range map[fs.FileMode]bool{0o600: false, 0o640: os.Geteuid() != 0, 0o644: true, 0o660: true} {
		must.Succeed(t, os.Chmod(key, mode))
		for _, target := range []connect.Target{{TLS: &connect.TLS{Key: key}}, {AdminTLS: &connect.TLS{Key: key}}} {
			if err := CheckKeys([]connect.Target{{}, target}); (err != nil) != refused {
				t.Errorf("mode %04o: %v", mode, err)
			}
		}
	}
	must.Be(t, CheckKeys([]connect.Target{{TLS: &connect.TLS{Key: key + "x"}}}), os.ErrNotExist, "a missing key")
	must.Succeed(t, os.Chmod(key, 0o600))
	if err := os.Chown(key, 65534, -1); err != nil {
		t.Skip("only root can give a file away")
	}
	err := CheckKeys([]connect.Target{{TLS: &connect.TLS{Key: key}}})
	if err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
		t.Errorf("a key of another user: %v", err)
	}
}
