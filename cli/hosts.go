package cli

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"lockscope/inspect"
	"lockscope/internal/config"
	"lockscope/internal/reversedns"
)

// namesWithin limits the wait of a single look for names of hosts: longer than one request to the resolver takes.
const namesWithin = 3 * time.Second

// hostRules are the names of hosts of a configuration, those of a profile first.
func hostRules(cfg config.Config, profile config.Profile) ([]inspect.HostRule, error) {
	var rules []inspect.HostRule
	for _, h := range slices.Concat(profile.Hosts, cfg.Hosts) {
		rule, err := inspect.NewHostRule(h.Address, h.Host, h.Name)
		if err != nil {
			return nil, fmt.Errorf("config: %w: hosts: %w", config.ErrInvalid, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// checkHosts checks those of all profiles.
func checkHosts(cfg config.Config) error {
	_, err := hostRules(cfg, config.Profile{})
	for name, p := range cfg.Profiles {
		if err == nil {
			if _, err = hostRules(config.Config{}, p); err != nil {
				err = fmt.Errorf("profile %q: %w", name, err)
			}
		}
	}
	return err
}

// hosts names the hosts of clients; nil where nobody wants them named.
func (a *app) hosts(s setup) *inspect.Hosts {
	h := &inspect.Hosts{Rules: s.hostRules}
	if a.reverseDNS || s.config.ReverseDNS {
		if a.names == nil {
			a.names = reversedns.New(net.DefaultResolver.LookupAddr, a.Now)
		}
		h.Resolver = a.names
	}
	if h.Resolver == nil && len(h.Rules) == 0 {
		return nil
	}
	return h
}

// awaitNames gives the resolver a moment for the names of all hosts of a snapshot.
func (a *app) awaitNames(ctx context.Context, s *inspect.Snapshot) {
	if a.names == nil {
		return
	}
	for l := range s.Locks() {
		for _, list := range [][]inspect.Contender{l.Holders, l.Waiters} {
			for i := range list {
				s.HostName(&list[i].Owner) // asks for it
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, namesWithin)
	defer cancel()
	a.names.Wait(ctx)
}
