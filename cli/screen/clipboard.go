package screen

import (
	"fmt"
	"strings"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/cli/render"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/connect"
)

// shellCommands returns shell commands that users can copy from the screen: reads with the
// service's own client, and the configured owner_command. c may be nil.
func shellCommands(s app.Setup, l *inspect.Lock, c *inspect.Contender) []describe.Command {
	var list []describe.Command
	if t, err := s.Backend(l.ID.Backend); err == nil && len(t.Servers) > 0 {
		kind := inspect.Redis
		if t.Service == connect.ZooKeeper {
			kind = inspect.ZooKeeper
		}
		list = describe.Look(kind, l, c, app.ClientWords(t))
	}
	if c != nil {
		if text, ok := s.Config.OwnerCommand.Fill(render.OwnerFields(l, c)); ok {
			list = append(list, describe.Command{Name: "owner", Text: text})
		}
	}
	return list
}

// noClipboard explains why the terminal is known to ignore OSC 52. It is empty if OSC 52 may work,
// since most terminals cannot be asked.
func noClipboard(getenv func(string) string) string {
	term := getenv("TERM")
	switch {
	case term == "" || term == "dumb" || term == "linux" || strings.HasPrefix(term, "vt"):
		return "a terminal of type " + fmt.Sprintf("%q", term) + " has no clipboard"
	case strings.HasPrefix(term, "screen") && getenv("TMUX") == "":
		return "GNU screen does not pass on the clipboard"
	case getenv("TERM_PROGRAM") == "Apple_Terminal":
		return "Apple's Terminal has no clipboard for programs"
	default:
		return ""
	}
}

// clipboard names what receives OSC 52 text instead of the terminal, or is empty. By default, tmux
// drops the text.
func clipboard(getenv func(string) string) string {
	if getenv("TMUX") == "" {
		return ""
	}
	return "tmux (needs: set -s set-clipboard on)"
}
