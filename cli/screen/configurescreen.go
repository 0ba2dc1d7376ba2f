package screen

import (
	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/config"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui"
	"github.com/lockscope/lockscope/tui/locks"
)

// configureScreen puts the configuration's filters, keys and colours into the screen's options. A
// configuration that cannot be read is reported by the commands that need it.
func configureScreen(a *app.App, o *tui.Options) error {
	path, err := a.ConfigPath()
	if err != nil {
		return nil
	}
	cfg, err := config.Load(path)
	if err != nil {
		return nil
	}
	if err := Check(cfg); err != nil {
		return app.Usagef("config %s: %w (see: lockscope config example)", path, err)
	}
	o.Look = lookOf(cfg)
	if cfg.Bell != "off" {
		o.Bell = inspect.Severity(cfg.Bell)
	}
	o.Theme.Skin, err = theme.NewSkin(cfg.Skin)
	return err
}

// Check returns an error if the screen cannot use the configuration.
func Check(cfg config.Config) error {
	if _, err := theme.NewSkin(cfg.Skin); err != nil {
		return err
	}
	return tui.CheckLook(lookOf(cfg))
}

func lookOf(cfg config.Config) tui.Look {
	look := tui.Look{Filters: cfg.Filters, Views: make(map[string]locks.View), Columns: cfg.Columns}
	for name, v := range cfg.Views {
		look.Views[name] = locks.View(v)
	}
	return look
}
