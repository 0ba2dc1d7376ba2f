// Package config reads the profiles: named sets of targets and their settings.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// Config is the configuration file.
type Config struct {
	Default  string             `yaml:"default"`
	Profiles map[string]Profile `yaml:"profiles"`
	// Theme is the name of the screen's colours, one of Themes; empty is the first of them.
	Theme string `yaml:"theme"`
	// Skin holds the user's colours by role, Filters and Views those of the list of locks by name,
	// and Columns the names of its columns. The screen checks them.
	Skin    map[string]string `yaml:"skin"`
	Filters map[string]string `yaml:"filters"`
	Views   map[string]View   `yaml:"views"`
	Columns []string          `yaml:"columns"`
	// Bell is the lowest severity, one of Bells, at which a new finding rings the terminal's bell;
	// empty is off.
	Bell string `yaml:"bell"`
	// OwnerCommand is shown next to a lock's holder.
	OwnerCommand OwnerCommand `yaml:"owner_command"`
	// Recipes are the user's own recipes, by name.
	Recipes map[string]Recipe `yaml:"recipes"`
	// Audit is "syslog", which copies each line of the audit file to syslog, or empty.
	Audit string `yaml:"audit"`
	// Expect applies to all profiles; the profile's own comes first.
	Expect []Expectation `yaml:"expect"`
	// Hosts are the names of clients' hosts, for all profiles; the profile's own come first.
	Hosts []Host `yaml:"hosts"`
}

// View is a filter, an order and columns of the list of locks; each may be left out.
type View struct {
	Filter  string   `yaml:"filter"`
	Sort    string   `yaml:"sort"`
	Columns []string `yaml:"columns"`
}

// Host names a client's host by its Address (or network), or by a regular expression for the host
// name that clients report themselves.
type Host struct {
	Address string `yaml:"address"`
	Host    string `yaml:"host"`
	// Name may contain {GROUP} for a named group of the expression.
	Name string `yaml:"name"`
}

// Expectation gives the kind, the usual hold or both of the locks whose id, BACKEND:PATH, matches a
// pattern in the syntax of SCAN.
type Expectation struct {
	Match string `yaml:"match"`
	// Hold is the usual upper limit of a hold; 0 means not given.
	Hold time.Duration `yaml:"hold"`
	// Kind is election, or empty for the library's kind.
	Kind string `yaml:"kind"`
}

func (e Expectation) check() error {
	switch {
	case e.Match == "":
		return errors.New("expect: match is missing (a pattern of BACKEND:PATH, such as zk:/services/*/leader)")
	case e.Hold < 0:
		return fmt.Errorf("expect %q: hold %v is negative", e.Match, e.Hold)
	case e.Kind != "" && e.Kind != "election":
		return fmt.Errorf("expect %q: kind %q is not election, the only one possible", e.Match, e.Kind)
	case e.Hold == 0 && e.Kind == "":
		return fmt.Errorf("expect %q: use hold or kind", e.Match)
	}
	return nil
}

// Recipe describes locks of an unknown library by regular expressions.
type Recipe struct {
	// Backend is zookeeper or redis, Kind is mutex, rw, semaphore or election.
	Backend         string `yaml:"backend"`
	Kind            string `yaml:"kind"`
	recipe.Patterns `yaml:",inline"`
}

// Profile is a named set of targets.
type Profile struct {
	Targets []Target `yaml:"targets"`
	// ReadOnly refuses every writing command.
	ReadOnly bool `yaml:"read_only"`
	// Environment is production, staging or dev; shown as a badge.
	Environment string `yaml:"environment"`
	// Account is for Redis servers without their own account.
	Account `yaml:",inline"`
	// Expect is for the profile's own locks; the first match counts.
	Expect []Expectation `yaml:"expect"`
	// Hosts are the names of its clients' hosts; the first match counts.
	Hosts []Host `yaml:"hosts"`
}

// ErrInvalid is wrapped by every error about the content of a configuration file.
var ErrInvalid = errors.New("not a usable configuration")

// Example is a configuration to start from.
const Example = `# lockscope configuration
default: dev
theme: auto                     # dark, light, high-contrast or colour-blind; the key T shows them all
# Colours of your own, by role: muted, faint, holding, waiting, critical, warning, unknown, badge, badge_text,
# selected, changed.
skin:
  holding: "#5fd7a7"
# Filters for the list of locks; choose them by name with the key ":".
filters:
  stuck: held>10m waiting
  mine: holder~^worker-[0-9]+$ or label=nightly
# Views of the list, chosen in the same way: a filter, the column to sort by (- reverses it), and columns.
# The key "C" and then "y" copies the current one.
views:
  redis-ttl:
    filter: backend=redis held
    sort: ttl
    columns: [lock, holder, client, held, ttl]
# The columns of that list, from left to right; default: as many as fit.
# columns: [lock, holder, held, wait, queue, finding]
# audit: syslog                 # a copy of each line of the audit file
bell: off                       # or the lowest severity whose new findings ring it: info, warning, critical
profiles:
  dev:
    environment: dev            # production, staging or dev
    targets:
      - zk://localhost:2181/locks
      - redis://localhost:6379
  prod-eu:
    environment: production
    read_only: true             # refuses everything that writes
    targets:
      - zk://zk1:2181,zk2:2181,zk3:2181/locks?admin=http://zk1:8080,http://zk2:8080,http://zk3:8080
      - redis://r1:6379,r2:6379,r3:6379?match=lock:*
      - url: zks://zk9:2281/jobs?admin=https://zk9:8443&admin_ca=/etc/ssl/admin.pem
        username: lockscope                              # the digest scheme
        password_command: [pass, show, zookeeper/jobs]
        admin: {username: viewer, password_file: ~/.config/lockscope/admin-password}
      - url: redis+sentinel://s1,s2,s3/orders
        username: orders-viewer
        password_file: ~/.config/lockscope/orders-password
        sentinel: {password_file: ~/.config/lockscope/sentinel-password}
    username: lockscope                                  # for Redis targets without their own
    password_file: ~/.config/lockscope/redis-password    # mode 0600
    expect:                     # what the servers do not say about locks; a SCAN pattern for BACKEND:PATH
      - match: redis:lock:nightly-*
        hold: 2h                # the usual maximum: stuck-holder is reported at twice that, instead of --stuck-after
      - match: zk:/locks/*/leader
        kind: election          # its holder is a leader, which holds the lock for a long time by design
# Names for the hosts of clients: by address or network, or by a regular expression for the whole host name that a
# program writes about itself.
hosts:
  - address: 10.0.3.7
    name: billing-1
  - address: 10.0.4.0/24
    name: batch rack
  - host: (?P<app>[a-z0-9-]+)-[0-9a-f]{8,10}-(?P<id>[a-z0-9]{5})
    name: pod {app}/{id}
# "lockscope show" prints this below a holder if all these fields are known; it is never run.
owner_command: ssh {host} jstack {pid}
# Your own lock formats: where the locks are and what their names contain. Groups: host, pid, thread, label, library_id,
# mode, since and until (instants), uuid1 (its time and MAC address) and count (a number of holders). {uuid}, {uuid4}
# and {instant} match UUIDs and instants. Redis targets without match= look for these keys, too; ZooKeeper targets look
# below their own paths.
recipes:
  acme:
    backend: zookeeper          # or redis: lock is then the key, and contender the value
    lock: /acme/locks/[^/]+
    contender: (?P<mode>read|write)-(?P<host>[^-]+)-(?P<pid>\d+)-\d{10}
    kind: rw                    # or mutex, semaphore, election
  legacy-cron:
    backend: redis
    lock: cron/.+
    contender: (?P<host>[^:]+):(?P<pid>\d+)@(?P<until>\d{10})
    scan: [cron/*]              # set this if the words in "lock" match too many keys
    confidence: likely          # default: certain; confidence_if_named: if the key's words name a lock
`

// DefaultPath is $XDG_CONFIG_HOME/lockscope/config.yaml, below ~/.config where that is not set.
func DefaultPath(getenv func(string) string) (string, error) {
	dir := getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("config: no home directory: %w (use --config FILE)", err)
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "lockscope", "config.yaml"), nil
}

// Load reads and checks a file. A file that does not exist is an error that wraps os.ErrNotExist.
func Load(path string) (Config, error) {
	text, info, err := read(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Config{}, fmt.Errorf("config: %w", err)
	case err != nil:
		return Config{}, fmt.Errorf("config: %w: %w", ErrInvalid, err)
	}
	if err := us().distrust(path, info); err != nil {
		return Config{}, fmt.Errorf("config %s: %w: it names commands that are run, and %w", path, ErrInvalid, err)
	}
	var c Config
	if err := Decode(text, &c); err != nil {
		return Config{}, fmt.Errorf("config %s: %w: %w", path, ErrInvalid, err)
	}
	if err := c.check(); err != nil {
		return Config{}, fmt.Errorf("config %s: %w: %w", path, ErrInvalid, err)
	}
	for name, p := range c.Profiles {
		if p.hasPlainPassword() && us().othersRead(info) {
			return Config{}, fmt.Errorf("config %s: %w: profile %q has a password in it and others may read it (mode "+
				"%04o; chmod 600 it)", path, ErrInvalid, name, info.Mode().Perm())
		}
	}
	return c, nil
}

// ReadFile reads a regular file of at most 256 KiB. It returns an error for anything else at path,
// such as a pipe or a directory, without waiting for it.
func ReadFile(path string) ([]byte, error) {
	text, _, err := read(path)
	return text, err
}

// read reads a regular file, and returns its mode as of the reading. It refuses a pipe, which may
// never end.
func read(path string) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path) // opening a named pipe would wait for a writer
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	if err == nil && len(text) > largestFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, largestFile)
	}
	return text, info, err
}

// Themes are the names that Theme may have.
func Themes() []string { return []string{"auto", "dark", "light", "high-contrast", "colour-blind"} }

// Bells are the values of Bell.
func Bells() []string { return []string{"off", "info", "warning", "critical"} }

func (c Config) check() error {
	if c.Bell != "" && !slices.Contains(Bells(), c.Bell) {
		return fmt.Errorf("bell %q is not one of %s", c.Bell, strings.Join(Bells(), ", "))
	}
	if c.Audit != "" && c.Audit != "syslog" {
		return fmt.Errorf("audit %q: use syslog, or leave it out", c.Audit)
	}
	if c.Theme != "" && !slices.Contains(Themes(), c.Theme) {
		return fmt.Errorf("theme %q is not one of %s", c.Theme, strings.Join(Themes(), ", "))
	}
	if _, ok := c.Profiles[c.Default]; c.Default != "" && !ok {
		return fmt.Errorf("default: there is no profile %q (choose from: %s)", c.Default, c.Names())
	}
	for name, p := range c.Profiles {
		if err := p.checkAll(); err != nil {
			return fmt.Errorf("profile %q: %w", name, err)
		}
	}
	for _, e := range c.Expect {
		if err := e.check(); err != nil {
			return err
		}
	}
	return c.OwnerCommand.check()
}

func (p Profile) checkAll() error {
	if len(p.Targets) == 0 {
		return errors.New("no targets (add a list: targets: [URL])")
	}
	if !slices.Contains([]string{"", "production", "staging", "dev"}, p.Environment) {
		return fmt.Errorf("environment %q is not one of production, staging, dev", p.Environment)
	}
	if err := p.checkAccounts(); err != nil {
		return err
	}
	for _, e := range p.Expect {
		if err := e.check(); err != nil {
			return err
		}
	}
	_, err := p.Parsed()
	return err
}

// Names are the profiles' names, for messages.
func (c Config) Names() string {
	if len(c.Profiles) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(c.Profiles)), ", ")
}
