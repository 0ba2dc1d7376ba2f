package config

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/each"
)

// Target is a profile's target: either a URL alone, or a mapping of its URL and the credentials for
// its servers.
type Target struct {
	URL     string `yaml:"url"`
	Account `yaml:",inline"`
	// Sentinel is for the sentinels themselves, Admin for the AdminServers of ZooKeeper.
	Sentinel Account `yaml:"sentinel"`
	Admin    Account `yaml:"admin"`
}

// UnmarshalYAML reads a plain string as the URL of a target without its own secrets.
func (t *Target) UnmarshalYAML(unmarshal func(any) error) error {
	if err := unmarshal(&t.URL); err == nil {
		return nil
	}
	type mapping Target
	return unmarshal((*mapping)(t))
}

// Account is a user, and one of three sources of the password.
type Account struct {
	Username string `yaml:"username"`
	// Password is in the configuration itself, which must then be readable only by its owner.
	Password connect.Secret `yaml:"password"`
	// PasswordFile is a file that only its owner may read; its first line is the password.
	PasswordFile string `yaml:"password_file"`
	// PasswordCommand is run without a shell; the first line of its output is the password.
	PasswordCommand []string `yaml:"password_command"`
}

func (a Account) isEmpty() bool { return a.Username == "" && !a.hasPassword() }

func (a Account) hasPassword() bool {
	return a.Password != "" || a.PasswordFile != "" || len(a.PasswordCommand) > 0
}

func (a Account) check() error {
	ways := []bool{a.Password != "", a.PasswordFile != "", len(a.PasswordCommand) > 0}
	if each.Count(ways, func(given bool) bool { return given }) > 1 {
		return errors.New("set only one of password, password_file and password_command")
	}
	return nil
}

// Parsed returns the profile's targets as connect.ParseTargets does, without secrets.
func (p Profile) Parsed() ([]connect.Target, error) {
	return connect.ParseTargets(each.Of(p.Targets, func(t Target) string { return t.URL }))
}

// checkAccounts refuses unused credentials, and different ones for the same servers.
func (p Profile) checkAccounts() error {
	unused := !p.isEmpty()
	var seen []Target
	var reached []connect.Target
	for _, t := range p.Targets {
		one, err := connect.ParseTargets([]string{t.URL})
		if err != nil {
			return err
		}
		at := one[0]
		if err := t.check(at); err != nil {
			return fmt.Errorf("target %s: %w", at.URL(), err)
		}
		for i, other := range reached {
			if other.SameServers(at) && !seen[i].sameAccounts(t) {
				return fmt.Errorf("target %s: another target has different credentials for the same servers "+
					"(remove one of them)", at.URL())
			}
		}
		seen, reached = append(seen, t), append(reached, at)
		unused = unused && (at.Service == connect.ZooKeeper || !t.isEmpty())
	}
	if unused {
		return errors.New("its username and password are for Redis, and no target would use them (write them into " +
			"the target: {url, username, password_file})")
	}
	return p.Account.check()
}

func (t Target) check(at connect.Target) error {
	for _, a := range []struct {
		name string
		Account
	}{{"", t.Account}, {"sentinel: ", t.Sentinel}, {"admin: ", t.Admin}} {
		if err := a.check(); err != nil {
			return fmt.Errorf("%s%w", a.name, err)
		}
	}
	switch {
	case !t.Sentinel.isEmpty() && at.Service != connect.RedisSentinel:
		return errors.New("sentinel: is for redis+sentinel:// only")
	case !t.Admin.isEmpty() && len(at.Admin) == 0:
		return errors.New("admin: is for ZooKeeper's AdminServers, and this target has no option admin=")
	case at.Service == connect.ZooKeeper && !t.isEmpty() && (t.Username == "" || !t.hasPassword()):
		return errors.New("ZooKeeper's digest scheme needs a username and a password")
	case !t.Admin.isEmpty() && (t.Admin.Username == "" || !t.Admin.hasPassword()):
		return errors.New("admin: needs a username and a password")
	}
	return nil
}

// sameAccounts reports whether two targets agree, or one of them has no credentials.
func (t Target) sameAccounts(other Target) bool {
	agree := func(a, b Account) bool {
		return a.isEmpty() || b.isEmpty() || a.Username == b.Username && a.Password == b.Password &&
			a.PasswordFile == b.PasswordFile && slices.Equal(a.PasswordCommand, b.PasswordCommand)
	}
	return agree(t.Account, other.Account) && agree(t.Sentinel, other.Sentinel) && agree(t.Admin, other.Admin)
}

// hasPlainPassword reports whether the configuration itself contains a password.
func (p Profile) hasPlainPassword() bool {
	return p.Password != "" || slices.ContainsFunc(p.Targets, func(t Target) bool {
		return t.Password != "" || t.Sentinel.Password != "" || t.Admin.Password != ""
	})
}

// From holds the sources of secrets other than the configuration.
type From struct {
	Getenv func(string) string
	// Stderr receives the commands' error output. Within limits the total time of all commands.
	Stderr io.Writer
	Within time.Duration
	// Unattended detaches commands from the terminal, so they cannot prompt.
	Unattended bool
}

// Secrets fills in each target's secrets: first from the profile's target with the same servers,
// then from the environment. For Redis, the profile itself comes last.
func (p Profile) Secrets(ctx context.Context, from From, targets []connect.Target) error {
	ctx, cancel := context.WithTimeout(ctx, from.Within)
	defer cancel()
	read := reader{From: from, outputs: make(map[string]connect.Secret)}
	for i := range targets {
		s, err := p.secretsOf(ctx, &read, targets[i])
		if err != nil {
			return fmt.Errorf("target %s: %w", targets[i].Name, err)
		}
		targets[i].Secrets = s
	}
	return nil
}

func (p Profile) secretsOf(ctx context.Context, read *reader, at connect.Target) (connect.Secrets, error) {
	s, err := connect.SecretsFromEnvironment(at.Service, read.Getenv)
	if err != nil {
		return s, err
	}
	own := p.own(at)
	if at.Service != connect.ZooKeeper && own.isEmpty() {
		s.Login, err = read.missing(ctx, s.Login, p.Account)
	}
	for _, a := range []struct {
		from Account
		to   *connect.Credentials
	}{{own.Account, &s.Login}, {own.Sentinel, &s.Sentinel}, {own.Admin, &s.Admin}} {
		if err == nil && !a.from.isEmpty() {
			*a.to, err = read.missing(ctx, connect.Credentials{}, a.from)
		}
	}
	if err == nil && s.Login.Username != "" && s.Login.Password == "" && at.Service != connect.ZooKeeper {
		err = fmt.Errorf("user %q without a password: neither is sent to Redis (use a password, or no user)",
			s.Login.Username)
	}
	return s, err
}

// own returns the profile's credentials for the servers of a target.
func (p Profile) own(at connect.Target) (own Target) {
	for _, t := range p.Targets {
		one, err := connect.ParseTargets([]string{t.URL})
		if err != nil || !one[0].SameServers(at) {
			continue // checkAccounts reports invalid URLs
		}
		for _, a := range []struct{ from, to *Account }{
			{&t.Account, &own.Account},
			{&t.Sentinel, &own.Sentinel},
			{&t.Admin, &own.Admin},
		} {
			if a.to.isEmpty() {
				*a.to = *a.from
			}
		}
	}
	return own
}

// reader reads passwords from their sources; each command runs once.
type reader struct {
	From
	outputs map[string]connect.Secret
}

// missing fills in the missing fields of credentials.
func (r *reader) missing(ctx context.Context, c connect.Credentials, a Account) (connect.Credentials, error) {
	c.Username = cmp.Or(c.Username, a.Username)
	if c.Password != "" {
		return c, nil
	}
	var err error
	switch {
	case a.PasswordFile != "":
		c.Password, err = fromFile("password_file", a.PasswordFile)
	case len(a.PasswordCommand) > 0:
		c.Password, err = r.fromCommand(ctx, a.PasswordCommand)
	default:
		c.Password = a.Password
	}
	return c, err
}

// SecretFile returns the first line of a file that only its owner may read.
func SecretFile(path string) (connect.Secret, error) { return fromFile("file", path) }

// fromFile reads a secret from the first line of a file. what names the file's purpose in errors,
// such as a configuration key.
func fromFile(what, path string) (connect.Secret, error) {
	path, err := connect.HomePath(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	text, info, err := read(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	if err := us().distrust(path, info); err != nil {
		return "", fmt.Errorf("%s %s: %w", what, path, err)
	}
	if us().othersRead(info) {
		return "", fmt.Errorf("%s %s may be read by others (mode %04o; chmod 600 it)", what, path, info.Mode().Perm())
	}
	return firstLine(what+" "+path, text)
}

// afterCommand is how long a stopped command's children may keep its pipes open.
const afterCommand = 200 * time.Millisecond

func (r *reader) fromCommand(ctx context.Context, command []string) (connect.Secret, error) {
	key := strings.Join(command, "\x00")
	if known, ok := r.outputs[key]; ok {
		return known, nil
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = connect.WithoutSecrets(os.Environ())
	cmd.Stderr = r.Stderr
	cmd.WaitDelay = afterCommand
	if r.Unattended {
		detach(cmd)
	}
	text, err := cmd.Output()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "", fmt.Errorf("password_command %s: no answer in %v (raise --timeout)", command[0], r.Within)
	}
	if err != nil {
		return "", fmt.Errorf("password_command %s: %w", command[0], err)
	}
	r.outputs[key], err = firstLine("password_command "+command[0], text)
	return r.outputs[key], err
}

func firstLine(from string, text []byte) (connect.Secret, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) == 0 {
		return "", fmt.Errorf("%s: the first line is empty: no password", from)
	}
	return connect.Secret(line), nil
}
