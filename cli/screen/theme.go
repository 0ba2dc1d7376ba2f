package screen

import (
	"slices"
	"strings"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/config"
	"github.com/lockscope/lockscope/theme"
)

// chosenTheme is the theme that LOCKSCOPE_THEME names or, without that, the configuration. The demo
// and replays also use it, but nothing else from the configuration. Errors in the configuration are
// reported by the commands that need it.
func chosenTheme(a *app.App) (theme.Options, error) {
	o := theme.Options{
		Name:    a.Getenv("LOCKSCOPE_THEME"),
		NoColor: a.NoColor || a.Getenv("NO_COLOR") != "",
		ASCII:   !app.SpeaksUTF8(a.Getenv),
	}
	if o.Name != "" && !slices.Contains(theme.Names(), o.Name) {
		return o, app.Usagef("LOCKSCOPE_THEME %q is not one of %s", o.Name, strings.Join(theme.Names(), ", "))
	}
	if path, err := a.ConfigPath(); o.Name == "" && err == nil {
		if cfg, err := config.Load(path); err == nil {
			o.Name = cfg.Theme
		}
	}
	return o, nil
}
