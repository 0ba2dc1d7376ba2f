package screen

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/config"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
)

func TestEnvironmentAndConfigurationChooseTheme(t *testing.T) {
	must.Same(t, theme.Names(), config.Themes(), "themes, and those that a configuration may name")
	file := filepath.Join(t.TempDir(), "config.yaml")
	must.Succeed(t, os.WriteFile(file, []byte("theme: high-contrast\n"), 0o600))
	for _, test := range []struct {
		env  map[string]string
		want theme.Options
		code int
	}{
		{map[string]string{"LANG": "C.UTF-8"}, theme.Options{Name: theme.HighContrast}, 0},
		{map[string]string{"LANG": "C.UTF-8", "LOCKSCOPE_THEME": "colour-blind"}, theme.Options{Name: theme.ColourBlind}, 0},
		{map[string]string{"LANG": "C", "NO_COLOR": "1"}, theme.Options{Name: theme.HighContrast, NoColor: true, ASCII: true}, 0},
		{map[string]string{"LOCKSCOPE_THEME": "pink"}, theme.Options{}, app.ExitUsage},
	} {
		a := &app.App{Options: app.Options{ConfigFile: file}}
		a.Getenv = func(name string) string { return test.env[name] }
		got, err := chosenTheme(a)
		if code := app.ExitCode(err); code != test.code || code == 0 && got != test.want {
			t.Errorf("%v: %+v, %v", test.env, got, err)
		}
	}
	if got, err := chosenTheme((&app.App{Options: app.Options{ConfigFile: file + "x"}, Environment: app.Environment{Getenv: func(string) string { return "" }}})); err != nil || got.Name != "" {
		t.Errorf("without a configuration: %+v, %v", got, err)
	}
}
