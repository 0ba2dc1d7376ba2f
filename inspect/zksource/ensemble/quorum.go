package ensemble

import (
	"fmt"
	"strings"
)

// NoQuorum lists the servers' answers if the ensemble has no quorum. It is empty if a server serves
// all clients, or if no server reports a missing quorum.
func (e *Ensemble) NoQuorum() string {
	lacking := false
	says := make([]string, 0, len(e.addrs))
	for i, addr := range e.addrs {
		a := &e.answers[i]
		switch {
		case a.serves():
			return ""
		case a.err != "":
			lacking = lacking || a.lacksQuorum()
			says = append(says, addr+": "+a.err)
		case a.asked:
			lacking = true
			says = append(says, addr+": serves read-only clients only")
		}
	}
	if !lacking {
		return ""
	}
	return fmt.Sprintf("no quorum (%s)", strings.Join(says, "; "))
}
