package app

import (
	"runtime/debug"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

func TestTheVersionNamesItsCommit(t *testing.T) {
	setting := func(pairs ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(pairs); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return info
	}
	for _, tt := range []struct {
		info        *debug.BuildInfo
		given, want string
	}{
		{nil, "", ""},
		{setting(), "", ""},
		{setting(), "fedcba9876543210 2026-01-02T03:04:05Z false", "commit fedcba987654, 2026-01-02T03:04:05Z, "},
		{nil, "02 2026-01-02T03:04:05Z true", "commit 02 with changes, 2026-01-02T03:04:05Z, "},
		{setting("vcs.revision", "0123456789abcdef", "vcs.time", "2026-01-02T03:04:05Z", "vcs.modified", "false"), "", "commit 0123456789ab, 2026-01-02T03:04:05Z, "},
		{setting("vcs.revision", "01", "vcs.modified", "true"), "", "commit 01 with changes, "},
	} {
		must.Equal(t, built(tt.info, tt.given), tt.want)
	}
}
