package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/internal/config"
	"lockscope/internal/connect"
)

// setup holds the targets of a command, with the secrets for them.
type setup struct {
	targets     []connect.Target
	named       bool   // the targets, in the arguments; else they are the profile's
	configFile  string // --config's
	profileName string
	profile     config.Profile
	config      config.Config
	recipes     []recipe.Custom
	hostRules   []inspect.HostRule
	// recording is a file to look at in place of targets; empty: there is none.
	recording string
}

// setUpLook is setUp for a command that only looks once: in place of targets it takes a recording.
func (a *app) setUpLook(ctx context.Context, args []string) (setup, error) {
	if len(args) != 1 || !isFile(args[0]) {
		return a.setUp(ctx, args)
	}
	_, cfg, err := a.configuration(false)
	if err != nil {
		return setup{}, err
	}
	rules, err := hostRules(cfg, config.Profile{})
	return setup{recording: args[0], config: cfg, hostRules: rules}, err
}

// isFile reports whether an argument names a file rather than servers.
func isFile(arg string) bool {
	info, err := os.Stat(arg)
	return err == nil && !info.IsDir()
}

// noTarget advises on an argument that is meant well but names no servers; nil where nothing is known of it.
func noTarget(arg string) error {
	switch {
	case arg == "demo":
		return usageError("target %q: the demo is a command of its own (write: lockscope demo, or lockscope demo --headless for a list)", arg)
	case isFile(arg):
		return usageError("target %q is a file: only ls, show, doctor and replay read recordings, one at a time (write: lockscope replay %s)", arg, arg)
	default:
		return nil
	}
}

// setUp reads targets from the arguments or, without any, from the profile.
func (a *app) setUp(ctx context.Context, args []string) (setup, error) {
	var s setup
	name, cfg, err := a.configuration(len(args) == 0)
	if err != nil {
		return s, err
	}
	s.config = cfg
	if s.recipes, err = customRecipes(cfg); err != nil {
		return s, err
	}
	s.named, s.configFile = len(args) > 0, a.config
	if name != "" {
		profile, ok := cfg.Profiles[name]
		if !ok {
			return s, usageError("profile %q is not in the configuration (there are: %s)", name, cfg.Names())
		}
		s.profileName, s.profile = name, profile
	}
	if s.hostRules, err = hostRules(cfg, s.profile); err != nil {
		return s, err
	}
	switch {
	case len(args) > 0:
		s.targets, err = connect.ParseTargets(args)
	case name != "":
		s.targets, err = s.profile.Parsed()
	default:
		return s, errNoTarget
	}
	if err != nil {
		for _, arg := range args {
			if advice := noTarget(arg); advice != nil {
				return s, advice
			}
		}
		return s, err
	}
	if err := a.goVia(s.targets); err != nil {
		return s, err
	}
	if err = s.profile.Secrets(ctx, a.Getenv, a.timeout, s.targets); err != nil {
		if s.profileName != "" {
			err = fmt.Errorf("profile %q: %w", s.profileName, err)
		}
		return s, usageError("%w", err)
	}
	return s, nil
}

// goVia has targets without a host of their own to go through take that of --via.
func (a *app) goVia(targets []connect.Target) error {
	if a.via == "" {
		return nil
	}
	via, err := connect.ParseVia(a.via)
	if err != nil {
		return usageError("--via: %w", err)
	}
	for i := range targets {
		switch {
		case targets[i].Service == connect.RedisUnix:
			return usageError("--via: target %s is a socket of this host", targets[i].Name)
		case targets[i].Via == nil:
			targets[i].Via = via
		}
	}
	return nil
}

var errNoTarget = usageError("no target given and no default profile (name one, such as zk://host:2181/locks or " +
	"redis://host:6379, or try: lockscope demo)")

// configuration reads the file, and says which profile is asked for or, when wanted, is the default. A file that was
// not named and does not exist is empty.
func (a *app) configuration(wanted bool) (profile string, cfg config.Config, err error) {
	asked := a.config != "" || a.profile != ""
	path, err := a.configPath()
	if err != nil && !asked && !wanted {
		return "", cfg, nil
	}
	if err != nil {
		return "", cfg, err
	}
	cfg, err = config.Load(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && !asked:
		return "", config.Config{}, nil
	case errors.Is(err, os.ErrNotExist):
		return "", cfg, usageError("%w (see: lockscope config example)", err)
	case err != nil:
		return "", cfg, err
	case a.profile != "":
		return a.profile, cfg, nil
	case wanted:
		return cfg.Default, cfg, nil
	default:
		return "", cfg, nil
	}
}

func (a *app) configPath() (string, error) {
	if a.config != "" {
		return a.config, nil
	}
	return config.DefaultPath(a.Getenv)
}

// customRecipes are the recipes that a configuration describes, by name.
func customRecipes(cfg config.Config) ([]recipe.Custom, error) {
	var recipes []recipe.Custom
	for _, name := range slices.Sorted(maps.Keys(cfg.Recipes)) {
		r := cfg.Recipes[name]
		c, err := recipe.NewCustom(name, r.Backend, r.Kind, recipe.Patterns{Lock: r.Lock, Contender: r.Contender, Data: r.Data})
		if err != nil {
			return nil, fmt.Errorf("config: %w: recipe %q: %w", config.ErrInvalid, name, err)
		}
		recipes = append(recipes, c)
	}
	return recipes, nil
}

// expectations of locks: the profile's before those of the configuration.
func (s setup) expectations() []inspect.Expectation {
	var list []inspect.Expectation
	for _, e := range slices.Concat(s.profile.Expect, s.config.Expect) {
		list = append(list, inspect.Expectation{Match: e.Match, Hold: e.Hold, Election: e.Kind == "election"})
	}
	return list
}

// backend is the target with the name that a LOCK starts with.
func (s setup) backend(name string) (connect.Target, error) {
	names := make([]string, len(s.targets))
	for i, t := range s.targets {
		if t.Name == name {
			return t, nil
		}
		names[i] = t.Name
	}
	return connect.Target{}, usageError("no target is named %q (there are: %s)", name, strings.Join(names, ", "))
}

// backendOf is the target that a lock is on. A ZooKeeper path must be written as the servers write it.
func (s setup) backendOf(id inspect.ID) (connect.Target, error) {
	t, err := s.backend(id.Backend)
	if err == nil && t.Service == connect.ZooKeeper && path.Clean("/"+id.Path) != id.Path {
		return t, usageError("%s is no path of a znode (write %s:%s)", id, id.Backend, inspect.Escape(path.Clean("/"+id.Path)))
	}
	return t, err
}

// mayWrite refuses writing commands where the profile says so.
func (s setup) mayWrite() error {
	if s.profile.ReadOnly {
		return exit(exitNo, "profile %q is read_only: refused", s.profileName)
	}
	return nil
}
