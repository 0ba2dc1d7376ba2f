package app

import (
	"fmt"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/config"
)

// hostRules returns the host names of a configuration, the profile's first.
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

// CheckConfig checks the recipes of a configuration and the host names of all profiles.
func CheckConfig(cfg config.Config) error {
	_, err := customRecipes(cfg)
	if err == nil {
		_, err = hostRules(cfg, config.Profile{})
	}
	for name, p := range cfg.Profiles {
		if err == nil {
			if _, err = hostRules(config.Config{}, p); err != nil {
				err = fmt.Errorf("profile %q: %w", name, err)
			}
		}
	}
	return err
}

// hosts names the hosts of clients; nil if the configuration names none.
func (a *App) hosts(s Setup) *inspect.Hosts {
	if len(s.hostRules) == 0 {
		return nil
	}
	return &inspect.Hosts{Rules: s.hostRules}
}
