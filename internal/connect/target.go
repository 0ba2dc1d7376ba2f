package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Service is the kind of server that a target names.
type Service string

// The services.
const (
	ZooKeeper     Service = "zookeeper"
	RedisMasters  Service = "redis"
	RedisSentinel Service = "redis+sentinel"
	RedisCluster  Service = "redis+cluster"
	RedisUnix     Service = "redis+unix"
)

// Target is one backend: the servers of a ZooKeeper ensemble, or independent Redis masters.
type Target struct {
	Service Service
	// Name of the backend; unique among the targets of ParseTargets.
	Name string
	// Servers as host:port, or the path of a socket.
	Servers []string
	// Roots are the ZooKeeper paths to look at, "/" when none was given.
	Roots []string
	// Chroot is put before every ZooKeeper path; paths are shown without it.
	Chroot string
	// Admin are the base URLs of the servers' AdminServers.
	Admin []string
	// Match are the SCAN patterns; empty means the defaults.
	Match []string
	// DB is the number of the Redis database.
	DB int
	// Master is the name that a Sentinel knows the master by.
	Master string
	TLS    *TLS
	// AdminTLS is for AdminServers with https if it differs from TLS; otherwise nil.
	AdminTLS *TLS
	// Via is the host from which the servers are dialled; nil means this one.
	Via *Via
	// Secrets for these servers; ParseTargets leaves them empty.
	Secrets Secrets
	// Renewal holds newer secrets; nil if they do not change.
	Renewal *Renewal
}

// TLS holds the TLS settings of a connection. All files are PEM.
type TLS struct{ CA, Cert, Key, ServerName string }

// ErrTarget is wrapped by every error about a target that cannot be used as written.
var ErrTarget = errors.New("not a usable target")

// ParseTargets reads target URLs. Those with the same servers become one backend with several roots or patterns.
// Backends without a name are called zk, redis, then zk2, redis2 and so on.
func ParseTargets(urls []string) ([]Target, error) {
	var targets []Target
	for _, u := range urls {
		t, err := parseTarget(u)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(targets, t.sameBackend); i >= 0 {
			if err := targets[i].merge(t); err != nil {
				return nil, err
			}
			continue
		}
		for _, other := range targets { // targets through the same host share its bastion
			if t.Via != nil && other.Via != nil && other.Via.String() == t.Via.String() {
				t.Via = other.Via
			}
		}
		targets = append(targets, t)
	}
	return targets, name(targets)
}

func (t Target) sameBackend(other Target) bool {
	return t.SameServers(other) && t.Chroot == other.Chroot && t.DB == other.DB
}

// SameServers reports whether two targets reach the same servers, even with different paths or
// patterns.
func (t Target) SameServers(other Target) bool {
	return t.Service == other.Service && slices.Equal(t.Servers, other.Servers) && t.Master == other.Master
}

func (t *Target) merge(other Target) error {
	if other.Name != "" && t.Name != "" && other.Name != t.Name {
		return fmt.Errorf("%w: the same servers are named %q and %q (use one name)", ErrTarget, t.Name, other.Name)
	}
	t.Name = cmp.Or(t.Name, other.Name)
	t.TLS = cmp.Or(t.TLS, other.TLS)
	t.AdminTLS = cmp.Or(t.AdminTLS, other.AdminTLS)
	t.Via = cmp.Or(t.Via, other.Via)
	t.Roots = union(t.Roots, other.Roots)
	t.Match = union(t.Match, other.Match)
	t.Admin = union(t.Admin, other.Admin)
	return nil
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// name gives every unnamed target the first free name of its kind.
func name(targets []Target) error {
	taken := make(map[string]bool)
	for _, t := range targets {
		if t.Name != "" && taken[t.Name] {
			return fmt.Errorf("%w: two backends are named %q (give each its own name=)", ErrTarget, t.Name)
		}
		taken[t.Name] = true
	}
	for i := range targets {
		if targets[i].Name != "" {
			continue
		}
		base := targets[i].Service.baseName()
		free := base
		for n := 2; taken[free]; n++ {
			free = base + strconv.Itoa(n)
		}
		targets[i].Name = free
		taken[free] = true
	}
	return nil
}

// schemes maps a URL scheme to its service and whether it uses TLS.
var schemes = map[string]struct {
	service Service
	tls     bool
}{
	"zk":              {ZooKeeper, false},
	"zks":             {ZooKeeper, true},
	"redis":           {RedisMasters, false},
	"rediss":          {RedisMasters, true},
	"redis+sentinel":  {RedisSentinel, false},
	"rediss+sentinel": {RedisSentinel, true},
	"redis+cluster":   {RedisCluster, false},
	"rediss+cluster":  {RedisCluster, true},
	"redis+unix":      {RedisUnix, false},
}

// parseTarget reads one URL. net/url would refuse a comma list with IPv6 hosts and a bare % in a pattern, so
// parseTarget splits it itself.
func parseTarget(s string) (Target, error) {
	fail := func(format string, args ...any) (Target, error) {
		return Target{}, fmt.Errorf("target %q is %w: %s", redact(s), ErrTarget, fmt.Sprintf(format, args...))
	}
	scheme, rest, ok := strings.Cut(s, "://")
	kind, known := schemes[scheme]
	if !ok || !known {
		return fail("write zk://host:2181/root or redis://host:6379 (zks:// and rediss:// for TLS)")
	}
	t := Target{Service: kind.service}
	if kind.tls {
		t.TLS = &TLS{}
	}
	if holdsSecret(rest) {
		return fail("it contains a user or password, and other users can see command lines: " +
			"set LOCKSCOPE_REDIS_USERNAME and " +
			"LOCKSCOPE_REDIS_PASSWORD, or LOCKSCOPE_ZK_AUTH, instead")
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, hasPath := strings.Cut(rest, "/")
	if t.Service == RedisUnix {
		if authority != "" || path == "" {
			return fail("write redis+unix:///path/to.sock")
		}
		t.Servers = []string{"/" + path}
	} else if err := t.setServers(authority); err != nil {
		return fail("%v", err)
	}
	if err := t.setPath(path, hasPath); err != nil {
		return fail("%v", err)
	}
	if err := t.setOptions(query); err != nil {
		return fail("%v", err)
	}
	return t, nil
}

// holdsSecret reports whether a target has an @ before its first option's value. Such a target has
// a user and password, whatever slashes and question marks they contain.
func holdsSecret(rest string) bool {
	at, query := strings.IndexByte(rest, '@'), strings.IndexByte(rest, '?')
	if at < 0 {
		return false
	}
	if query < 0 || at < query {
		return true
	}
	value := strings.IndexByte(rest[query:], '=')
	return value < 0 || at < query+value
}

// redact returns the printable part of a target: no options, and only the scheme if there is an @.
func redact(s string) string {
	base, _, options := strings.Cut(s, "?")
	if strings.Contains(s, "@") {
		scheme, _, ok := strings.Cut(base, "://")
		if !ok {
			return "…"
		}
		return scheme + "://…"
	}
	if options {
		base += "?…"
	}
	return base
}

func (t *Target) setServers(authority string) error {
	port := "6379"
	switch t.Service {
	case ZooKeeper:
		port = "2181"
	case RedisSentinel:
		port = "26379"
	}
	for _, h := range strings.Split(authority, ",") {
		addr, err := serverAddress(h, port)
		if err != nil {
			return err
		}
		if slices.Contains(t.Servers, addr) {
			return fmt.Errorf("server %s is named twice", addr)
		}
		t.Servers = append(t.Servers, addr)
	}
	return nil
}

func serverAddress(s, defaultPort string) (string, error) {
	if s == "" {
		return "", errors.New("no host")
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), defaultPort
		if strings.Contains(host, ":") && !strings.HasPrefix(s, "[") {
			return "", fmt.Errorf("%q is not host:port (write an IPv6 address in brackets)", s)
		}
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("%q has no port from 1 to 65535", s)
	}
	if host == "" || strings.ContainsAny(host, " []%#") && net.ParseIP(host) == nil {
		return "", fmt.Errorf("%q has no usable host", s)
	}
	return net.JoinHostPort(host, port), nil
}

func (t *Target) setPath(path string, given bool) error {
	switch t.Service {
	case ZooKeeper:
		root := "/" + strings.TrimSuffix(path, "/")
		if strings.Contains(root, "//") {
			return fmt.Errorf("root %q has an empty part", root)
		}
		t.Roots = []string{root}
	case RedisMasters, RedisCluster:
		if !given || path == "" {
			return nil
		}
		db, err := strconv.Atoi(path)
		if err != nil || db < 0 || t.Service == RedisCluster && db > 0 {
			return fmt.Errorf("%q is not a database number (put key patterns in ?match=)", path)
		}
		t.DB = db
	case RedisSentinel:
		if path == "" {
			return errors.New("the master's name is missing (write redis+sentinel://host:26379/mymaster)")
		}
		t.Master = path
	}
	return nil
}

// setOptions reads the options after the question mark. It decodes only %25 and %23, so that
// patterns may contain anything else unchanged.
func (t *Target) setOptions(query string) error {
	for _, option := range strings.Split(query, "&") {
		if option == "" {
			continue
		}
		key, value, _ := strings.Cut(option, "=")
		value = strings.NewReplacer("%25", "%", "%23", "#").Replace(value)
		if value == "" {
			return fmt.Errorf("option %q has no value", key)
		}
		if err := t.setOption(key, value); err != nil {
			return err
		}
	}
	return nil
}

func (t *Target) setOption(key, value string) (err error) {
	known := t.knownOptions()
	if !slices.Contains(strings.Split(known, ", "), key) {
		if slices.Contains(strings.Split(tlsOptions, ", "), key) {
			return fmt.Errorf("option %q needs TLS (write zks:// or rediss://)", key)
		}
		return fmt.Errorf("option %.20q is unknown here (known: %s)", key, known)
	}
	switch key {
	case "name":
		if strings.ContainsAny(value, ": \t") {
			return fmt.Errorf("name %q must not contain a colon or space", value)
		}
		t.Name = value
	case "admin":
		return t.addAdmins(strings.Split(value, ","))
	case "chroot":
		if !strings.HasPrefix(value, "/") {
			return fmt.Errorf("chroot %q does not start with a slash", value)
		}
		t.Chroot = strings.TrimSuffix(value, "/")
	case "via":
		t.Via, err = ParseVia(value)
	case "match":
		t.Match = append(t.Match, value)
	default:
		if option, ok := strings.CutPrefix(key, "admin_"); ok {
			t.AdminTLS = cmp.Or(t.AdminTLS, &TLS{})
			t.AdminTLS.set(option, value)
		} else {
			t.TLS.set(key, value)
		}
	}
	return err
}

func (t *Target) addAdmins(bases []string) error {
	for _, base := range bases {
		u, err := url.Parse(base)
		if err == nil && u.User != nil || strings.Contains(base, "@") {
			return errors.New("admin= contains a user or password: set LOCKSCOPE_ZK_ADMIN_USERNAME and " +
				"LOCKSCOPE_ZK_ADMIN_PASSWORD, " +
				"or put them into a profile")
		}
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("admin=%q is not an address such as http://host:8080", base)
		}
		t.Admin = append(t.Admin, strings.TrimSuffix(base, "/"))
	}
	return nil
}

const tlsOptions = "ca, cert, key, server_name"

func (t *Target) knownOptions() string {
	known := "match, name"
	if t.Service == ZooKeeper {
		known = "admin, admin_ca, admin_cert, admin_key, admin_server_name, chroot, name"
	}
	if t.Service != RedisUnix {
		known += ", via"
	}
	if t.TLS != nil {
		known += ", " + tlsOptions
	}
	return known
}

// Dialer connects to the servers through the target's Via; nil if it has none.
func (t Target) Dialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	if t.Via == nil {
		return nil
	}
	return t.Via.DialContext
}
