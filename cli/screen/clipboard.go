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

// shellCommands returns lines for a shell about a lock, to be copied from the screen: reads with
// the service's own client, and the owner_command of the configuration. c may be nil.
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

// noClipboard explains why a terminal is known to ignore OSC 52; empty if it may work. Most
// terminals cannot be asked.
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

// clipboard is where OSC 52 sends text; empty for the terminal itself. By default tmux drops it.
func clipboard(getenv func(string) string) string {
	if getenv("TMUX") == "" {
		return ""
	}
	return "tmux (needs: set -s set-clipboard on)"
}
