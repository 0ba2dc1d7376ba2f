package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Two builds of one source are the same byte by byte, with nothing of this machine in them. The program is a small one of ours: that
// of all takes minutes to build without cgo.
func TestTheSameSourceGivesTheSameBytes(t *testing.T) {
	t.Chdir("../..")
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	platform := runtime.GOOS + "/" + runtime.GOARCH
	var sums []string
	var dir string
	for range 2 {
		dir = t.TempDir()
		if err := release(t.Context(), dir, "./internal/mutants", []string{platform}, []file{{"LICENSE", 0o644, []byte("x")}}, ""); err != nil {
			t.Fatal(err)
		}
		sum, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(sum))
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 2 {
		t.Errorf("%s\nand then\n%s", sums[0], sums[1])
	}
	name := "lockscope_" + strings.ReplaceAll(platform, "/", "_")
	bom, err := os.ReadFile(filepath.Join(dir, name+".cdx.json"))
	if err != nil || !strings.Contains(string(bom), "pkg:golang/stdlib@1.") {
		t.Errorf("the list of modules: %s, %v", bom, err)
	}
	files := unpack(t, filepath.Join(dir, name+".tar.gz"))
	for _, want := range []string{"lockscope", "LICENSE"} {
		if len(files[name+"/"+want]) == 0 {
			t.Errorf("%s is missing", want)
		}
	}
	if here, err := os.Getwd(); err != nil || bytes.Contains(files[name+"/lockscope"], []byte(here)) {
		t.Errorf("the program has paths of this machine (%v)", err)
	}
}

func unpack(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(time.Unix(1700000000, 0)) || h.Uid != 0 || h.Uname != "" {
			t.Errorf("%s tells when or by whom it was made: %+v", h.Name, h)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAZipForWindowsIsTheSameTwice(t *testing.T) {
	at := time.Unix(1700000000, 0).UTC()
	one, err := pack("windows", "x", at, []file{{"lockscope.exe", 0o755, []byte("MZ")}})
	if err != nil || one.name != "x.zip" {
		t.Fatalf("%s, %v", one.name, err)
	}
	two, err := pack("windows", "x", at, []file{{"lockscope.exe", 0o755, []byte("MZ")}})
	if err != nil || !bytes.Equal(one.data, two.data) {
		t.Errorf("they differ (%v)", err)
	}
}

// Where the program, its manual, completions and licence go in packages; what is no such thing is documentation.
func TestEveryFileHasItsPlaceInAPackage(t *testing.T) {
	t.Chdir("../..")
	var files []file
	for _, name := range []string{"lockscope", "README.md", "LICENSE", "CHANGELOG.md", "docs/cli.md", "deploy/grafana/lockscope.json", "man/lockscope.1", "completions/_lockscope", "completions/lockscope.bash", "completions/lockscope.ps1"} {
		files = append(files, file{name, 0o644, []byte(name)})
	}
	for format, want := range map[string]string{
		"deb": "/usr/bin/lockscope /usr/share/doc/lockscope/README.md /usr/share/doc/lockscope/copyright /usr/share/doc/lockscope/CHANGELOG.md " +
			"/usr/share/doc/lockscope/docs/cli.md /usr/share/doc/lockscope/deploy/grafana/lockscope.json /usr/share/man/man1/lockscope.1.gz /usr/share/zsh/vendor-completions/_lockscope /usr/share/bash-completion/completions/lockscope",
		"rpm": "/usr/bin/lockscope /usr/share/doc/lockscope/README.md /usr/share/licenses/lockscope/LICENSE /usr/share/doc/lockscope/CHANGELOG.md " +
			"/usr/share/doc/lockscope/docs/cli.md /usr/share/doc/lockscope/deploy/grafana/lockscope.json /usr/share/man/man1/lockscope.1.gz /usr/share/zsh/site-functions/_lockscope /usr/share/bash-completion/completions/lockscope",
	} {
		text, err := recipe(t.TempDir(), format, "amd64", "1.2.3", files)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Version  string
			Contents []content
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		var places []string
		kept := slices.DeleteFunc(slices.Clone(files), func(f file) bool { return installPath(format, f.name) == "" })
		for i, c := range got.Contents {
			places = append(places, c.Dst)
			data, err := os.ReadFile(c.Src)
			if err != nil || len(data) == 0 || c.Info.Owner != "root" || c.Info.Mode != 0o644 {
				t.Errorf("%+v: %q, %v", c, data, err)
			}
			if !strings.HasSuffix(c.Dst, ".gz") && string(data) != kept[i].name {
				t.Errorf("%s has %q", c.Dst, data)
			}
		}
		if strings.Join(places, " ") != want || got.Version != "1.2.3" {
			t.Errorf("%s: %s, want %s", format, places, want)
		}
	}
}
