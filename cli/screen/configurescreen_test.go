package screen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui"
)

func TestScreenConfigurationIsCheckedAndUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	a := &app.App{Options: app.Options{ConfigFile: file}}
	a.Getenv = func(string) string { return "" }
	for text, says := range map[string]string{
		"skin: {holdings: '#123456'}": "no role", "skin: {holding: red}": "#rrggbb",
		"filters: {x: 'age>'}": "filters: x", "columns: [held]": "lock is missing", "columns: [lock, lock]": "twice", "views: {v: {columns: [lock, colour]}}": "views: v: columns: \"colour\"",
		"views: {v: {sort: colour}}": "views: v: sort", "views: {v: {sort: \"-\"}}": "views: v: sort", "views: {v: {filter: 'age>'}}": "views: v: filter",
		"skin: {holding: '#123456'}\nfilters: {old: held>1h}\nviews: {v: {sort: -held, columns: [held, lock]}}\ncolumns: [lock, ttl]\n": "",
	} {
		must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
		var o tui.Options
		err := configureScreen(a, &o)
		switch {
		case says == "" && (err != nil || o.Filters["old"] != "held>1h" || o.Theme.Skin[2] != "#123456" || o.Columns[1] != "ttl" || o.Views["v"].Columns[0] != "held"):
			t.Errorf("%s: %+v, %v", text, o, err)
		case says != "" && (app.ExitCode(err) != app.ExitUsage || !strings.Contains(err.Error(), says)):
			t.Errorf("%s: %v", text, err)
		}
	}
}
