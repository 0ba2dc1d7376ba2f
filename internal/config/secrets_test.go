package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
)

// none is an environment without variables.
func none(string) string { return "" }

func secretFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "password")
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	must.Succeed(t, os.Chmod(path, mode))
	return path
}

// profile reads profile p of a configuration that only its owner may read.
func profile(t *testing.T, text string) (Profile, error) {
	t.Helper()
	path := secretFile(t, text, 0o600)
	c, err := Load(path)
	return c.Profiles["p"], err
}

func secretsOf(t *testing.T, p Profile, getenv func(string) string) ([]connect.Target, error) {
	t.Helper()
	targets := must.Have(p.Parsed())(t)
	return targets, p.Secrets(t.Context(), From{Getenv: getenv, Stderr: os.Stderr, Within: time.Minute}, targets)
}

func TestEachTargetHasItsOwnSecrets(t *testing.T) {
	file := secretFile(t, "of the file\r\nsecond line\n", 0o600)
	p, err := profile(t, fmt.Sprintf(`profiles: {p: {username: all, password: of the profile, targets: [
		zk://z1,
		{url: "zk://z2?admin=http://z2:8080", username: u2, password_file: %s, admin: {username: a2, password: pa2}},
		{url: "redis+sentinel://s1/m", username: u3, password_command: [printf, 'of the command\r\n'], sentinel: {password: ps}},
		redis://r1]}}`, file))
	must.Succeed(t, err)
	targets := must.Have(secretsOf(t, p, none))(t)
	login := func(user, password string) connect.Credentials {
		return connect.Credentials{Username: user, Password: connect.Secret(password)}
	}
	for i, want := range []connect.Secrets{
		{},
		{Login: login("u2", "of the file"), Admin: login("a2", "pa2")},
		{Login: login("u3", "of the command"), Sentinel: login("", "ps")},
		{Login: login("all", "of the profile")},
	} {
		must.Equal(t, targets[i].Secrets, want, targets[i].URL(), "secrets")
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if text := fmt.Sprintf(verb, targets) + fmt.Sprintf(verb, p); strings.Contains(text, "of the file") || strings.Contains(text, "of the profile") || strings.Contains(text, "pa2") {
			t.Errorf("%s prints a secret", verb)
		}
	}
}

// The environment's Redis password applies to all servers without their own.
func TestEnvironmentOverridesProfileNotTarget(t *testing.T) {
	p := must.Have(profile(t, `profiles: {p: {password: profile, targets: [redis://r1, {url: redis://r2, password: own}, zk://z1]}}`))(t)
	env := map[string]string{"LOCKSCOPE_REDIS_PASSWORD": "environment", "LOCKSCOPE_ZK_AUTH": "digest:u:a:b"}
	targets := must.Have(secretsOf(t, p, func(name string) string { return env[name] }))(t)
	for i, want := range []connect.Secret{"environment", "own", "a:b"} {
		if targets[i].Secrets.Login.Password != want {
			t.Errorf("%s: not the secret of the %s", targets[i].URL(), string(want))
		}
	}
	env["LOCKSCOPE_ZK_AUTH"] = "sasl:u"
	if _, err := secretsOf(t, p, func(name string) string { return env[name] }); err == nil || !strings.Contains(err.Error(), "digest:USER:PASSWORD") {
		t.Errorf("an unsupported scheme: %v", err)
	}
}

func TestUnusableSecretSourcesAreRefused(t *testing.T) {
	for name, tt := range map[string]struct{ account, says string }{
		"readable file":   {"password_file: " + secretFile(t, "x", 0o640), "chmod 600"},
		"empty file":      {"password_file: " + secretFile(t, "\nx", 0o600), "no password"},
		"no file":         {"password_file: /no/such/file", "no such file"},
		"failing command": {"password_command: ['false']", "exit status 1"},
		"no command":      {"password_command: [no-such-command]", "no-such-command"},
		"silent command":  {"password_command: ['true']", "no password"},
		"only a user":     {"username: u", "without a password"},
	} {
		p, err := profile(t, "profiles: {p: {targets: [redis://r1], "+tt.account+"}}")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := secretsOf(t, p, none); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
}

// The time limit ends a hanging command whose child keeps the output open.
func TestHungPasswordCommandIsStopped(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pid")
	p := Profile{Targets: []Target{{URL: "redis://r1"}}, Account: Account{PasswordCommand: []string{"sh", "-c", "sleep 1000 2>/dev/null & echo $! >" + pids + "; wait"}}}
	t.Cleanup(func() {
		var pid int
		if text, err := os.ReadFile(pids); err == nil {
			_, _ = fmt.Sscan(string(text), &pid)
		}
		if child, err := os.FindProcess(pid); pid > 0 && err == nil {
			_ = child.Kill() // if the command has started it
		}
	})
	targets := must.Have(p.Parsed())(t)
	err := p.Secrets(t.Context(), From{Getenv: none, Stderr: os.Stderr, Within: 50 * time.Millisecond}, targets)
	if err == nil || !strings.Contains(err.Error(), "--timeout") {
		t.Errorf("%v, want a hint to use --timeout", err)
	}
}

// Programs that print passwords do not get our secrets, and run once even if several targets use them.
func TestPasswordCommandHasCleanEnvironment(t *testing.T) {
	t.Setenv("LOCKSCOPE_ZK_AUTH", "digest:u:secret")
	runs := filepath.Join(t.TempDir(), "runs")
	p := must.Have(profile(t, fmt.Sprintf(`profiles: {p: {targets: [redis://r1, redis://r2], password_command: [sh, -c, "echo x >> %s; env | grep -c secret || true"]}}`, runs)))(t)
	targets, err := secretsOf(t, p, none)
	if err != nil || targets[1].Secrets.Login.Password != "0" {
		t.Errorf("%v: %s of our secrets in its environment, want 0", err, string(targets[1].Secrets.Login.Password))
	}
	if text, err := os.ReadFile(runs); err != nil || string(text) != "x\n" {
		t.Errorf("the program ran %d times, want once (%v)", strings.Count(string(text), "x"), err)
	}
}

// Unused and ambiguous secrets are errors.
func TestUnusedOrAmbiguousCredentialsAreRefused(t *testing.T) {
	for _, tt := range []struct{ profile, says string }{
		{"{targets: [zk://z1], username: u, password: s}", "are for Redis"},
		{"{targets: [{url: redis://r1, password: s}], username: u, password: s}", "are for Redis"},
		{"{targets: [{url: redis://r1, sentinel: {password: s}}]}", "redis+sentinel"},
		{"{targets: [{url: zk://z1, admin: {username: a, password: s}}]}", "no option admin="},
		{"{targets: [{url: redis://r1, admin: {username: a, password: s}}]}", "no option admin="},
		{"{targets: [{url: 'zk://z1?admin=http://z1:8080', admin: {password: s}}]}", "needs a username"},
		{"{targets: [{url: zk://z1, password: s}]}", "needs a username"},
		{"{targets: [{url: zk://z1, username: u}]}", "and a password"},
		{"{targets: [{url: redis://r1, password: s, password_file: f}]}", "only one of"},
		{"{targets: [redis://r1], password_file: f, password_command: [c]}", "only one of"},
		{"{targets: [{url: redis://r1, password: s}, {url: redis://r1/1, password: other}]}", "different credentials"},
		{"{targets: [{url: redis://r1, pasword: s}]}", "pasword"},
		{"{targets: [{username: s}]}", "target"},
	} {
		if _, err := profile(t, "profiles: {p: "+tt.profile+"}"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.profile, err, tt.says)
		}
	}
}

func TestConfigurationModeIsChecked(t *testing.T) {
	const plain, secret = "profiles: {p: {targets: [redis://r1]}}", "profiles: {p: {targets: [{url: redis://r1, password: s}]}}"
	for _, tt := range []struct {
		text string
		mode os.FileMode
		fine bool
	}{
		{plain, 0o644, true},
		{plain, 0o664, false},
		{plain, 0o646, false},
		{secret, 0o600, true},
		{secret, 0o640, false},
		{secret, 0o604, false},
	} {
		if _, err := Load(secretFile(t, tt.text, tt.mode)); (err == nil) != tt.fine || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s, mode %04o: %v", tt.text, tt.mode, err)
		}
	}
}
