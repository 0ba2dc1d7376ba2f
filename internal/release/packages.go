package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// installPaths are those of an archive's files on a system, for deb and for rpm; pages that have no place of
// their own are documentation, below each other as in the repository, by which they link to each other.
var installPaths = map[string]struct{ deb, rpm string }{
	"lockscope":                  {"/usr/bin/lockscope", "/usr/bin/lockscope"},
	"man/lockscope.1":            {"/usr/share/man/man1/lockscope.1.gz", "/usr/share/man/man1/lockscope.1.gz"},
	"completions/lockscope.bash": {"/usr/share/bash-completion/completions/lockscope", "/usr/share/bash-completion/completions/lockscope"},
	"completions/_lockscope":     {"/usr/share/zsh/vendor-completions/_lockscope", "/usr/share/zsh/site-functions/_lockscope"},
	"completions/lockscope.fish": {"/usr/share/fish/vendor_completions.d/lockscope.fish", "/usr/share/fish/vendor_completions.d/lockscope.fish"},
	"completions/lockscope.ps1":  {}, // left out
	"LICENSE":                    {"/usr/share/doc/lockscope/copyright", "/usr/share/licenses/lockscope/LICENSE"},
}

// installPath returns a file's path in a package of a format, empty for one that is not in it.
func installPath(format, name string) string {
	at, known := installPaths[name]
	switch {
	case !known:
		return "/usr/share/doc/lockscope/" + filepath.ToSlash(name)
	case format == "rpm":
		return at.rpm
	}
	return at.deb
}

// content is a file of a package, as nfpm takes it.
type content struct {
	Src  string `json:"src"`
	Dst  string `json:"dst"`
	Info struct {
		Mode  int    `json:"mode"`
		Owner string `json:"owner"`
		Group string `json:"group"`
	} `json:"file_info"`
}

// recipe of a package (https://nfpm.goreleaser.com/docs/configuration/), in JSON, which is YAML.
func recipe(dir, format, arch, version string, files []file) ([]byte, error) {
	var contents []content
	for i, f := range files {
		dst := installPath(format, f.name)
		if dst == "" {
			continue
		}
		data := f.data
		if strings.HasSuffix(dst, ".gz") {
			var err error
			if data, err = gzipped(data); err != nil {
				return nil, err
			}
		}
		src := filepath.Join(dir, strconv.Itoa(i)) // several have the same base name
		if err := os.WriteFile(src, data, 0o600); err != nil {
			return nil, err
		}
		c := content{Src: src, Dst: dst}
		c.Info.Mode, c.Info.Owner, c.Info.Group = int(f.mode), "root", "root"
		contents = append(contents, c)
	}
	return json.Marshal(map[string]any{
		"name": "lockscope", "arch": arch, "platform": "linux", "version": version, "section": "admin", "priority": "optional",
		"maintainer": "The lockscope authors <lockscope@localhost>", "license": "MIT",
		"description": "Observe and manage distributed locks in ZooKeeper and Redis\n" +
			"Who holds a lock, who waits for it, in which order, what is wrong, and what to do about it: a screen, a command line and metrics.",
		"contents": contents,
		"rpm":      map[string]any{"buildhost": "localhost", "summary": "Observe and manage distributed locks in ZooKeeper and Redis"},
	})
}

func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// packages makes a deb and an rpm of the files for an architecture, by nfpm (.ci/nfpm.mod), and returns their names.
func packages(ctx context.Context, dir, arch, version string, made time.Time, files []file) ([]string, error) {
	var names []string
	for _, format := range []string{"deb", "rpm"} {
		stage, err := os.MkdirTemp("", "lockscope-release-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(stage)
		text, err := recipe(stage, format, arch, version, files)
		if err != nil {
			return nil, err
		}
		config := filepath.Join(stage, "nfpm.json")
		if err := os.WriteFile(config, text, 0o600); err != nil {
			return nil, err
		}
		name := "lockscope_linux_" + arch + "." + format
		cmd := exec.CommandContext(ctx, "go", "tool", "-modfile=.ci/nfpm.mod", "nfpm", "package",
			"--config", config, "--packager", format, "--target", filepath.Join(dir, name))
		cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", made.Unix()))
		if said, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", name, err, said)
		}
		names = append(names, name)
	}
	return names, nil
}
