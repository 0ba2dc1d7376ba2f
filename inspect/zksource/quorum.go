package zksource

import (
	"fmt"
	"strings"
)

// noQuorum lists the answers of the servers of an ensemble without a quorum; empty when a server serves all clients, or
// none reports that it lacks one.
func (r *run) noQuorum() string {
	lacking := false
	says := make([]string, 0, len(r.cfg.Servers))
	for i, addr := range r.cfg.Servers {
		a := &r.answers[i]
		switch {
		case a.serves():
			return ""
		case a.err != "":
			lacking = lacking || a.lacksQuorum()
			says = append(says, addr+": "+a.err)
		case a.asked:
			lacking = true
			says = append(says, addr+": serves only those who only read")
		}
	}
	if !lacking {
		return ""
	}
	return fmt.Sprintf("no quorum (%s)", strings.Join(says, "; "))
}
