package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// HostRule maps clients' hosts to the names that people use for them. Servers see addresses, and
// programs write whatever their platform calls them. Make it with NewHostRule.
type HostRule struct {
	within netip.Prefix   // if not valid, host decides
	host   *regexp.Regexp // matches all of what a program wrote
	name   string
}

// NewHostRule names hosts by an address, 10.0.3.7 or 10.0.3.0/24, or by a regular expression. The
// expression must match the whole host in an entry, such as the name of a pod. Give exactly one of
// the two. In name, {GROUP} is replaced by the text of the expression's group of that name.
func NewHostRule(address, host, name string) (HostRule, error) {
	r := HostRule{name: name}
	if name == "" || (address == "") == (host == "") {
		return r, errors.New("set name, and either address or host")
	}
	var groups []string
	if address != "" {
		within, err := prefixOf(address)
		if err != nil {
			return r, fmt.Errorf("address %q is neither an address nor a network (write 10.0.3.7 or 10.0.3.0/24)",
				address)
		}
		r.within = within
	} else {
		compiled, err := regexp.Compile(`\A(?s:` + host + `)\z`)
		if err != nil {
			return r, fmt.Errorf("host: %w", err)
		}
		r.host, groups = compiled, compiled.SubexpNames()
	}
	for _, p := range placeholder.FindAllString(name, -1) {
		if group := strings.Trim(p, "{}"); group == "" || !slices.Contains(groups, group) {
			return r, fmt.Errorf("name %q: host has no group %q", name, group)
		}
	}
	return r, nil
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// prefixOf parses a network, or a single address as one.
func prefixOf(address string) (netip.Prefix, error) {
	if strings.Contains(address, "/") {
		within, err := netip.ParsePrefix(address)
		return within.Masked(), err
	}
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

// Hosts names clients' hosts by the first rule that fits.
type Hosts struct {
	Rules []HostRule
}

// Name sets the rules for host names. Call it before Run.
func (o *Observer) Name(hosts *Hosts) { o.hosts = hosts }

// HostName is the name of an owner's host; false if no rule applies.
func (s *Snapshot) HostName(o *Owner) (Untrusted, bool) { return s.hosts.of(o) }

func (h *Hosts) of(o *Owner) (Untrusted, bool) {
	if h == nil {
		return "", false
	}
	addr := hostAddress(o)
	for _, r := range h.Rules {
		if name, ok := r.nameOf(addr, o.Host.Raw()); ok {
			return Untrusted(name), true
		}
	}
	return "", false
}

// hostAddress is an owner's address as the servers see it, else as the owner wrote it. It is not
// valid if neither is known.
func hostAddress(o *Owner) netip.Addr {
	host, _, err := net.SplitHostPort(o.Client)
	if err != nil {
		host = o.Client
	}
	host = cmp.Or(host, o.Host.Raw())
	addr, _ := netip.ParseAddr(host)
	return addr.Unmap().WithZone("")
}

// nameOf names this address or host; false if the rule does not apply to it.
func (r HostRule) nameOf(addr netip.Addr, host string) (string, bool) {
	if r.host == nil {
		return r.name, addr.IsValid() && r.within.Contains(addr)
	}
	match := r.host.FindStringSubmatch(host)
	if host == "" || match == nil {
		return "", false
	}
	var groups []string
	for i, group := range r.host.SubexpNames() {
		if group != "" {
			groups = append(groups, "{"+group+"}", match[i])
		}
	}
	return strings.NewReplacer(groups...).Replace(r.name), true
}
