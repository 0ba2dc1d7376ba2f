package zksource

import (
	"fmt"
	"strings"
	"time"
)

// candidates returns the servers to try next: while none serves all clients, those that serve clients which only read
// (https://cwiki.apache.org/confluence/display/ZOOKEEPER/GSoCReadOnlyMode).
func (r *run) candidates() (servers []string, readOnly bool) {
	if r.failures == 0 {
		return r.cfg.Servers, false
	}
	for i, addr := range r.cfg.Servers {
		switch a := &r.answers[i]; {
		case a.serves():
			return r.cfg.Servers, false
		case a.asked && a.failed == nil:
			servers = append(servers, addr)
		}
	}
	if len(servers) == 0 || r.readOnlyFailed {
		return r.cfg.Servers, false
	}
	return servers, true
}

// leaveReadOnly connects anew when a server serves all clients again: the data of one without quorum grow old.
func (r *run) leaveReadOnly(now time.Time) {
	r.readOnlyFailed = false
	if !r.ready && r.link == nil {
		r.retryAt = now // their answers may name the server to try
	}
	if !r.ready || !r.link.readOnly {
		return
	}
	for i := range r.cfg.Servers {
		if r.answers[i].serves() {
			r.lost(linkEvent{link: r.link, at: now, kind: linkLost})
			r.linkErr = r.cfg.Servers[i] + " serves again"
			return
		}
	}
}

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
