package connect

import (
	"fmt"
	"slices"
	"strings"
)

// Secret is a password. Printing or encoding it never shows it; string(s) is its text.
type Secret string

const hidden = "[secret]"

// Format prints a fixed word, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// MarshalText encodes a fixed word.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Credentials are a user and a password. The zero value means no login.
type Credentials struct {
	Username string
	Password Secret
}

// Secrets are what a target's servers require of a client. They come from the environment or a profile, never
// from a URL.
type Secrets struct {
	// Login is for Redis, where the user may be empty, or for ZooKeeper's digest scheme.
	Login Credentials
	// Sentinel is for the sentinels themselves, which may have their own users.
	Sentinel Credentials
	// Admin is for the AdminServers of ZooKeeper, sent as HTTP Basic.
	Admin Credentials
}

// The environment variables that hold secrets.
const (
	redisUser, redisPassword       = "LOCKSCOPE_REDIS_USERNAME", "LOCKSCOPE_REDIS_PASSWORD"
	sentinelUser, sentinelPassword = "LOCKSCOPE_REDIS_SENTINEL_USERNAME", "LOCKSCOPE_REDIS_SENTINEL_PASSWORD"
	zooKeeperAuth                  = "LOCKSCOPE_ZK_AUTH"
	adminUser, adminPassword       = "LOCKSCOPE_ZK_ADMIN_USERNAME", "LOCKSCOPE_ZK_ADMIN_PASSWORD"
)

// WebhookToken is the variable with the token that is sent to a webhook's receiver.
const WebhookToken = "LOCKSCOPE_WEBHOOK_TOKEN"

// SecretVariables returns the names of the variables that hold secrets: those that SecretsFromEnvironment
// reads, and WebhookToken.
func SecretVariables() []string {
	return []string{
		redisUser, redisPassword, sentinelUser, sentinelPassword, zooKeeperAuth, adminUser, adminPassword,
		WebhookToken,
	}
}

// WithoutSecrets returns an environment of NAME=VALUE without the variables that hold our secrets.
// Every program that we start gets it.
func WithoutSecrets(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		// Windows finds a variable by its name in any case.
		return slices.ContainsFunc(SecretVariables(),
			func(secret string) bool { return strings.EqualFold(secret, name) })
	})
}

// SecretsFromEnvironment reads the variables for a service. It returns an error wrapping ErrTarget
// if LOCKSCOPE_ZK_AUTH is needed and is not digest:USER:PASSWORD, the only supported scheme.
func SecretsFromEnvironment(service Service, getenv func(string) string) (Secrets, error) {
	if service != ZooKeeper {
		return Secrets{
			Login:    Credentials{getenv(redisUser), Secret(getenv(redisPassword))},
			Sentinel: Credentials{getenv(sentinelUser), Secret(getenv(sentinelPassword))},
		}, nil
	}
	s := Secrets{Admin: Credentials{getenv(adminUser), Secret(getenv(adminPassword))}}
	auth := getenv(zooKeeperAuth)
	if auth == "" {
		return s, nil
	}
	credentials, scheme := strings.CutPrefix(auth, "digest:")
	user, password, ok := strings.Cut(credentials, ":")
	if !scheme || !ok || user == "" {
		return s, fmt.Errorf("%w: %s is not usable (write digest:USER:PASSWORD)", ErrTarget, zooKeeperAuth)
	}
	s.Login = Credentials{user, Secret(password)}
	return s, nil
}

// Digest returns the credentials for ZooKeeper's digest scheme, user:password; nil without
// credentials.
func (c Credentials) Digest() []byte {
	if c.Username == "" {
		return nil
	}
	return []byte(c.Username + ":" + string(c.Password))
}
