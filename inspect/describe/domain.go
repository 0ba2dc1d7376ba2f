package describe

import (
	"net/netip"
	"strings"

	"github.com/lockscope/lockscope/inspect"
)

// Limits of SharedDomain: how many hosts it compares, and how many locks it searches for them.
const domainHosts, domainLocks = 200, 200

// SharedDomain returns the domain that the hosts of a snapshot's clients share, such as
// .prod.example.com. It is empty if they share none or are addresses. Only the first hosts are
// compared.
func SharedDomain(s *inspect.Snapshot) string {
	var first, shared string
	several, hosts, locks := false, 0, 0
	add := func(name string) {
		host, _, _ := strings.Cut(name, ":")
		if !isHostName(host) {
			return
		}
		if hosts++; first == "" {
			first, shared = host, host[strings.IndexByte(host, '.'):]
		}
		shared, several = commonDomain(shared, host), several || host != first
	}
	view := View{Snapshot: s}
	for l := range s.Locks() {
		if locks++; locks > domainLocks || hosts >= domainHosts || first != "" && shared == "" {
			break
		}
		for _, list := range [][]inspect.Contender{l.Holders, l.Waiters[:min(len(l.Waiters), domainHosts)]} {
			for i := range list {
				add(Owner(&list[i]))
				add(view.Client(&list[i].Owner))
			}
		}
	}
	if !several {
		return ""
	}
	return shared
}

// isHostName reports whether a name is a host name with a domain, not an address.
func isHostName(name string) bool {
	if at := strings.IndexByte(name, '.'); at <= 0 || strings.ContainsAny(name, `/\ `) || name[len(name)-1] == '.' {
		return false
	}
	_, err := netip.ParseAddr(name)
	return err != nil
}

// commonDomain is the longest end of a domain that a host shares.
func commonDomain(domain, host string) string {
	for domain != "" && !strings.HasSuffix(host, domain) {
		next := strings.IndexByte(domain[1:], '.')
		if next < 0 {
			return ""
		}
		domain = domain[1+next:]
	}
	return domain
}
