package app

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version of this program.
const Version = "0.1.0"

// source is "REVISION TIME MODIFIED" of the commit, in the go command's words, if the build sets
// it (-ldflags -X). The go command finds no commit in a linked git worktree. .goreleaser.yml sets
// source.
var source string

// VersionText returns the version, the commit and time it was built from, and the platform.
func VersionText() string {
	info, _ := debug.ReadBuildInfo()
	return fmt.Sprintf("%s (%s%s %s/%s)", Version, built(info, source), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// built describes the source: "commit abc, 2026-01-02T03:04:05Z, ". It uses given or, without it,
// the go command's record. It is empty for a build outside a repository.
func built(info *debug.BuildInfo, given string) string {
	notes := make(map[string]string)
	if info != nil {
		for _, s := range info.Settings {
			notes[s.Key] = s.Value
		}
	}
	if parts := strings.Fields(given); len(parts) == 3 {
		notes["vcs.revision"], notes["vcs.time"], notes["vcs.modified"] = parts[0], parts[1], parts[2]
	}
	var b strings.Builder
	if commit := notes["vcs.revision"]; commit != "" {
		b.WriteString("commit " + commit[:min(12, len(commit))])
		if notes["vcs.modified"] == "true" {
			b.WriteString(" with changes")
		}
		b.WriteString(", ")
	}
	if at := notes["vcs.time"]; at != "" {
		b.WriteString(at + ", ")
	}
	return b.String()
}
