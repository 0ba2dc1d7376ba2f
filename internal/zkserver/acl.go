package zkserver

import (
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"strings"
)

// Access lists are enforced as in ZooKeeper 3.8, with the schemes world, auth and digest.
// (PrepRequestProcessor.fixupACL, ZooKeeperServer.checkACL, DigestAuthenticationProvider.)

// Rights (ZooDefs.Perms).
const (
	permRead   = 1
	permWrite  = 2
	permCreate = 4
	permDelete = 8
	permAdmin  = 16
)

// identity is one identity of a connection, or one that an entry of an access list admits.
type identity struct{ scheme, id string }

// acl is an entry of an access list.
type acl struct {
	perms int32
	identity
}

var (
	anyone  = identity{"world", "anyone"}
	openACL = []acl{{31, anyone}}
	// super may do everything: the server itself, and the operator of an Ensemble. No client is authenticated as it.
	super = []identity{{scheme: "super"}}
)

// allow checks that one of the identities has one of the rights.
func allow(list []acl, perms int32, who []identity) errCode {
	if slices.Contains(who, super[0]) {
		return codeOK
	}
	for _, a := range list {
		if a.perms&perms != 0 && (a.identity == anyone || slices.Contains(who, a.identity)) {
			return codeOK
		}
	}
	return codeNoAuth
}

// resolve returns an access list as stored: each entry once, with auth replaced by the client's
// identities.
func resolve(list []acl, who []identity) ([]acl, errCode) {
	var kept []acl
	for i, a := range list {
		if slices.Contains(list[:i], a) {
			continue
		}
		switch {
		case a.identity == anyone, a.scheme == "digest" && validDigest(a.id):
			kept = append(kept, a)
		case a.scheme == "auth":
			if len(who) == 0 {
				return nil, codeInvalidACL
			}
			for _, id := range who {
				kept = append(kept, acl{a.perms, id})
			}
		default:
			return nil, codeInvalidACL
		}
	}
	if len(kept) == 0 {
		return nil, codeInvalidACL
	}
	return kept, codeOK
}

// validDigest reports whether an id has a name and a digest. Like Java's split, it drops empty
// parts at the end.
func validDigest(id string) bool { return strings.Count(strings.TrimRight(id, ":"), ":") == 1 }

// digest returns the identity of scheme "digest" for credentials of the form user:password: the
// name and, in base64, the SHA-1 of both.
func digest(credentials []byte) identity {
	user, _, _ := strings.Cut(string(credentials), ":")
	sum := sha1.Sum(credentials)
	return identity{"digest", user + ":" + base64.StdEncoding.EncodeToString(sum[:])}
}

// masked hides an access list's digests from clients that may read the node but not administer it.
func masked(list []acl) []acl {
	list = slices.Clone(list)
	for i, a := range list {
		if user, _, ok := strings.Cut(a.id, ":"); ok && a.scheme == "digest" {
			list[i].id = user + ":x"
		}
	}
	return list
}

// authenticate adds the identity that an authentication proves. Callers hold srv.mu.
func (c *conn) authenticate(scheme string, credentials []byte) errCode {
	if scheme != "digest" {
		return codeAuthFailed
	}
	who := digest(credentials)
	if !slices.Contains(c.who, who) {
		c.who = append(slices.Clip(c.who), who) // requests under way keep the list as it was
	}
	return codeOK
}
