package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/config"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/zkpath"
)

// Setup holds the targets of a command and their secrets.
type Setup struct {
	Targets     []connect.Target
	Named       bool   // the arguments name the targets; else the profile does
	configFile  string // given with --config
	ProfileName string
	Profile     config.Profile
	Config      config.Config
	recipes     []recipe.Custom
	hostRules   []inspect.HostRule
	// Recording is a file to read instead of targets, unless it is empty.
	Recording string
}

// SetUpLook is SetUp for a command that also takes a recording instead of targets.
func (a *App) SetUpLook(ctx context.Context, args []string) (Setup, error) {
	if len(args) != 1 || !isFile(args[0]) {
		return a.SetUp(ctx, args)
	}
	_, cfg, err := a.configuration(false)
	if err != nil {
		return Setup{}, err
	}
	rules, err := hostRules(cfg, config.Profile{})
	return Setup{Recording: args[0], Config: cfg, hostRules: rules}, err
}

// isFile reports whether an argument names a file rather than servers.
func isFile(arg string) bool {
	info, err := os.Stat(arg)
	return err == nil && !info.IsDir()
}

// NoTarget advises on an argument that names no servers but is otherwise known; else it returns
// nil.
func NoTarget(arg string) error {
	switch {
	case arg == "demo":
		return Usagef("target %q: demo is a command, not a target (write: lockscope demo, or lockscope demo "+
			"--headless for a list)", arg)
	case isFile(arg):
		return Usagef("target %q is a file: only ls, show, doctor and replay read recordings, one at a time (write: "+
			"lockscope replay %s)", arg, arg)
	default:
		return nil
	}
}

// SetUp reads targets from the arguments, or from the profile if there are none.
func (a *App) SetUp(ctx context.Context, args []string) (Setup, error) {
	return a.setUp(ctx, args, false)
}

// setUp is SetUp; unattended commands for passwords get no terminal.
func (a *App) setUp(ctx context.Context, args []string, unattended bool) (Setup, error) {
	var s Setup
	name, cfg, err := a.configuration(len(args) == 0)
	if err != nil {
		return s, err
	}
	s.Config = cfg
	if s.recipes, err = customRecipes(cfg); err != nil {
		return s, err
	}
	s.Named, s.configFile = len(args) > 0, a.ConfigFile
	if name != "" {
		profile, ok := cfg.Profiles[name]
		if !ok {
			return s, noProfile(name, cfg)
		}
		s.ProfileName, s.Profile = name, profile
	}
	if s.hostRules, err = hostRules(cfg, s.Profile); err != nil {
		return s, err
	}
	switch {
	case len(args) > 0:
		s.Targets, err = connect.ParseTargets(args)
	case name != "":
		s.Targets, err = s.Profile.Parsed()
	default:
		return s, ErrNoTarget
	}
	if err != nil {
		for _, arg := range args {
			if advice := NoTarget(arg); advice != nil {
				return s, advice
			}
		}
		return s, err
	}
	if err := a.goVia(s.Targets); err != nil {
		return s, err
	}
	if err := config.CheckKeys(s.Targets); err != nil {
		return s, err
	}
	from := config.From{Getenv: a.Getenv, Stderr: Direct(a.Stderr), Within: a.Timeout, Unattended: unattended}
	if err = s.Profile.Secrets(ctx, from, s.Targets); err != nil {
		if s.ProfileName != "" {
			err = fmt.Errorf("profile %q: %w", s.ProfileName, err)
		}
		return s, Usagef("%w", err)
	}
	return s, nil
}

func noProfile(name string, cfg config.Config) error {
	return Usagef("profile %q is not in the configuration (it has: %s)", name, cfg.Names())
}

// goVia sets the jump host of --via on targets without one.
func (a *App) goVia(targets []connect.Target) error {
	if a.Via == "" {
		return nil
	}
	via, err := connect.ParseVia(a.Via)
	if err != nil {
		return Usagef("--via: %w", err)
	}
	for i := range targets {
		switch {
		case targets[i].Service == connect.RedisUnix:
			return Usagef("--via: target %s is a local socket", targets[i].Name)
		case targets[i].Via == nil:
			targets[i].Via = via
		}
	}
	return nil
}

// ErrNoTarget is returned if neither the arguments nor a profile name a target.
var ErrNoTarget = Usagef("no target given and no default profile (name one, such as zk://host:2181/locks or " +
	"redis://host:6379, or try: lockscope demo)")

// configuration reads the file. It also returns the requested profile or, if wanted is set, the
// default one. A missing file counts as empty unless the user named it or a profile.
func (a *App) configuration(wanted bool) (profile string, cfg config.Config, err error) {
	asked := a.ConfigFile != "" || a.Profile != ""
	path, err := a.ConfigPath()
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
		return "", cfg, Usagef("%w (see: lockscope config example)", err)
	case err != nil:
		return "", cfg, err
	case a.Profile != "":
		return a.Profile, cfg, nil
	case wanted:
		return cfg.Default, cfg, nil
	default:
		return "", cfg, nil
	}
}

// ConfigPath returns the file of --config, or the default one.
func (a *App) ConfigPath() (string, error) {
	if a.ConfigFile != "" {
		return a.ConfigFile, nil
	}
	return config.DefaultPath(a.Getenv)
}

// customRecipes returns the recipes of a configuration, sorted by name.
func customRecipes(cfg config.Config) ([]recipe.Custom, error) {
	var recipes []recipe.Custom
	for _, name := range slices.Sorted(maps.Keys(cfg.Recipes)) {
		r := cfg.Recipes[name]
		c, err := recipe.NewCustom(name, r.Backend, r.Kind, r.Patterns)
		if err != nil {
			return nil, fmt.Errorf("config: %w: recipe %q: %w", config.ErrInvalid, name, err)
		}
		recipes = append(recipes, c)
	}
	return recipes, nil
}

// Expectations returns the expectations for locks, the profile's first.
func (s Setup) Expectations() []inspect.Expectation {
	return each.Of(slices.Concat(s.Profile.Expect, s.Config.Expect), func(e config.Expectation) inspect.Expectation {
		return inspect.Expectation{Match: e.Match, Hold: e.Hold, Election: e.Kind == "election"}
	})
}

// Backend returns the target of that name.
func (s Setup) Backend(name string) (connect.Target, error) {
	names := make([]string, len(s.Targets))
	for i, t := range s.Targets {
		if t.Name == name {
			return t, nil
		}
		names[i] = t.Name
	}
	return connect.Target{}, Usagef("no target is named %q (the targets are: %s)", name, strings.Join(names, ", "))
}

// BackendOf returns the target of a lock. A ZooKeeper path that no znode can have is not a lock, and no server is
// asked about it.
func (s Setup) BackendOf(id inspect.ID) (connect.Target, error) {
	t, err := s.Backend(id.Backend)
	if err != nil || t.Service != connect.ZooKeeper {
		return t, err
	}
	if err := zkpath.Check(id.Path); err != nil {
		advice := "see: lockscope ls"
		if whole := path.Clean("/" + id.Path); zkpath.Check(whole) == nil {
			advice = "write " + inspect.ID{Backend: id.Backend, Path: whole}.String()
		}
		return t, Exitf(ExitNo, "%s: no such lock: the path is invalid: %w (%s)", id, err, advice)
	}
	return t, nil
}

// MayWrite returns an error if the profile is read_only.
func (s Setup) MayWrite() error {
	if s.Profile.ReadOnly {
		return Exitf(ExitNo, "profile %q is read_only: refused", s.ProfileName)
	}
	return nil
}

// Title returns the name of the profile, or those of the targets.
func (s Setup) Title() string {
	if s.ProfileName != "" {
		return s.ProfileName
	}
	return strings.Join(each.Of(s.Targets, func(t connect.Target) string { return t.Name }), " ")
}
