package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version of this program.
const Version = "0.1.0"

// versionText is the version with the commit that it was built of, the time of that commit, and where it runs.
func versionText() string {
	info, _ := debug.ReadBuildInfo()
	return fmt.Sprintf("%s (%s%s %s/%s)", Version, built(info), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// built repeats the go command's note of the source: "commit abc, 2026-01-02T03:04:05Z, "; empty where it was built outside a
// repository.
func built(info *debug.BuildInfo) string {
	if info == nil {
		return ""
	}
	notes := make(map[string]string)
	for _, s := range info.Settings {
		notes[s.Key] = s.Value
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
