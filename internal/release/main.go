// Command release builds what is published, below dist/: for each platform an archive of the program, its pages and the licence, and
// for Linux a deb and an rpm; the modules that are in it as CycloneDX; and the checksums. The same commit gives the same bytes, wherever and whenever it is built
// with the same Go. Run it at the root of the module.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64", "os/arch,…")
	dir := flag.String("dir", "dist", "directory for what is made")
	installable := flag.Bool("packages", true, "make deb and rpm, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	extra, version, err := pages(ctx)
	if err == nil {
		if !*installable {
			version = ""
		}
		err = release(ctx, *dir, ".", strings.Split(*platforms, ","), extra, version)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// release makes everything of the program in a Go package, and last the checksums. Without a version there are no packages to install.
func release(ctx context.Context, dir, program string, platforms []string, extra []file, version string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	made, err := builtAt(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, p := range platforms {
		goos, arch, ok := strings.Cut(p, "/")
		if !ok {
			return fmt.Errorf("platform %q: write os/arch", p)
		}
		built, err := build(ctx, program, goos, arch)
		if err != nil {
			return err
		}
		bom, err := materials(built)
		if err != nil {
			return err
		}
		name := "lockscope_" + goos + "_" + arch
		binary := "lockscope"
		if goos == "windows" {
			binary += ".exe"
		}
		files := append([]file{{binary, 0o755, built}}, extra...)
		archive, err := pack(goos, name, made, files)
		if err != nil {
			return err
		}
		for _, f := range []file{archive, {name + ".cdx.json", 0o644, bom}} {
			if err := os.WriteFile(filepath.Join(dir, f.name), f.data, f.mode); err != nil {
				return err
			}
			names = append(names, f.name)
		}
		if goos == "linux" && version != "" {
			made, err := packages(ctx, dir, arch, version, made, files)
			if err != nil {
				return err
			}
			names = append(names, made...)
		}
		log.Printf("%s", archive.name)
	}
	return checksums(dir, names)
}

// builtAt is the time of the commit, which stands in archives in place of the time of building.
func builtAt(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH") // https://reproducible-builds.org/specs/source-date-epoch
	if text == "" {
		said, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("the time of the commit: %w (or set SOURCE_DATE_EPOCH)", err)
		}
		text = strings.TrimSpace(string(said))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the time of the commit: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// source gives the program the commit that it is built of, for its variable of this name: the go command would not in a linked worktree, which
// has a file .git, and the same commit is to give the same bytes in each. Empty outside a repository.
func source(ctx context.Context) string {
	commit := exec.CommandContext(ctx, "git", "log", "-1", "--format=%H %cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ")
	commit.Env = append(os.Environ(), "TZ=UTC")
	text, err := commit.Output()
	if err != nil {
		return ""
	}
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain").Output()
	return fmt.Sprintf("%s %t", strings.TrimSpace(string(text)), err != nil || len(changes) > 0)
}

// build is the program for a platform, static and without paths of this machine.
func build(ctx context.Context, program, goos, arch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "lockscope-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "lockscope")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X 'lockscope/cli.source="+source(ctx)+"'", "-o", out, program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s/%s: %w: %s", goos, arch, err, said)
	}
	return os.ReadFile(out)
}

// file of an archive.
type file struct {
	name string
	mode os.FileMode
	data []byte
}

// pages are the files that come with the program: README and licence, the manual, completions; and the program's version.
func pages(ctx context.Context) (files []file, version string, err error) {
	names, err := filepath.Glob("docs/*")
	if err != nil {
		return nil, "", err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return filepath.Ext(name) != ".md" && filepath.Ext(name) != ".json" })
	for _, name := range append(names, "README.md", "LICENSE", "CHANGELOG.md", "deploy/prometheus/lockscope.rules.yml", "deploy/grafana/lockscope.json") {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, "", err
		}
		files = append(files, file{name, 0o644, text})
	}
	program, err := build(ctx, ".", runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, "", err
	}
	dir, err := os.MkdirTemp("", "lockscope-release-")
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(dir)
	own := filepath.Join(dir, "lockscope")
	if err := os.WriteFile(own, program, 0o700); err != nil {
		return nil, "", err
	}
	for _, page := range [][]string{
		{"man/lockscope.1", "man"},
		{"completions/lockscope.bash", "completion", "bash"},
		{"completions/_lockscope", "completion", "zsh"},
		{"completions/lockscope.fish", "completion", "fish"},
		{"completions/lockscope.ps1", "completion", "powershell"},
	} {
		text, err := exec.CommandContext(ctx, own, page[1:]...).Output()
		if err != nil {
			return nil, "", fmt.Errorf("%v: %w", page[1:], err)
		}
		files = append(files, file{page[0], 0o644, text})
	}
	said, err := exec.CommandContext(ctx, own, "version").Output()
	if err != nil {
		return nil, "", fmt.Errorf("version: %w", err)
	}
	words := strings.Fields(string(said)) // lockscope 1.2.3 (…)
	if len(words) < 2 {
		return nil, "", fmt.Errorf("version: %q", said)
	}
	return files, words[1], nil
}

// materials lists the modules in a program, as the linker noted them (CycloneDX 1.5, https://cyclonedx.org/docs/1.5/json).
func materials(program []byte) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	type component struct {
		Type    string `json:"type"`
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
		Purl    string `json:"purl,omitempty"`
	}
	list := []component{{"platform", "go", strings.TrimPrefix(info.GoVersion, "go"), "pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version})
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata":   map[string]any{"component": component{Type: "application", Name: "lockscope"}},
		"components": list,
	}, "", " ")
	return append(text, '\n'), err
}

func checksums(dir string, names []string) error {
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(b.String()), 0o644)
}
