package finding

import (
	"fmt"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// serversDisagree: servers that are given as one ZooKeeper ensemble are none: one that stands alone among others, or two leaders.
// Each then has locks of its own, and which are shown depends on the server that answers.
//
// Cause in the wild: addresses of several standalone servers in one list of servers; a member that was started without the list of
// the others; a split of an ensemble whose configuration was changed by hand.
func serversDisagree() rule {
	return rule{
		name: "servers-disagree", severity: inspect.Warning,
		means:    "servers given as one ensemble that are none",
		evidence: "servers (addr, role)",
		do:       "a target for each",
	}.ofBackends(func(b *inspect.Backend, _ time.Time) []inspect.Finding {
		if b.Kind != inspect.ZooKeeper {
			return nil
		}
		var servers []evidence
		odd, other := "", "" // a server that stands alone, or another leader, and one beside it
		alone, leaders := 0, 0
		for i := range b.Servers {
			s := &b.Servers[i]
			if s.State != inspect.ServerUp || s.Role == "" {
				continue
			}
			switch s.Role {
			case "standalone":
				alone++
			case "leader":
				leaders++
			}
			role := inspect.Escape(s.Role)
			servers = append(servers, evidence{"addr": inspect.Escape(s.Addr), "role": role})
			if says := at(s.Addr) + " is " + role; odd == "" && (role == "standalone" || leaders > 1) {
				odd = says
			} else if other == "" {
				other = says
			}
		}
		if len(servers) < 2 || alone == 0 && leaders < 2 {
			return nil
		}
		return one(inspect.Finding{
			Confidence: recipe.Certain,
			Message:    fmt.Sprintf("not one ensemble: %s, %s", odd, other),
			Evidence:   evidence{"servers": servers, "cause": "the target names servers that do not belong together, or a member runs without the others"},
			Advice:     "give each ensemble a target of its own; compare the lists of servers in the members' configurations (server.N lines)",
		})
	})
}
