package lockops

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"lockscope/internal/connect"
)

// errNoACL is returned rather than create a node that is open to more users than its directory, or to none.
var errNoACL = fmt.Errorf("its ACL cannot be read and the session is not authenticated: give the ACL (WithACL, --acl): %w", zk.ErrNoAuth)

// ACL is the access list that locks of this session give to what they create below a directory, whose path
// has the session's chroot in it: that of WithACL, else the directory's own. Where that cannot be read or
// repeated, since its digests are hidden from who may not change it: all for the users as which this session
// is authenticated. zk.ErrNoNode when there is no such directory.
func (s *ZKSession) ACL(ctx context.Context, dir string) ([]zk.ACL, error) {
	session, err := s.alive(ctx)
	if err != nil {
		return nil, err
	}
	return s.aclBelow(ctx, session, dir)
}

// aclBelow is ACL for a session that is known.
func (s *ZKSession) aclBelow(ctx context.Context, session int64, dir string) ([]zk.ACL, error) {
	if s.opts.acl != nil {
		return s.opts.acl, nil
	}
	r, err := s.call(ctx, session, pathRequest(opGetACL, dir))
	if err != nil && !errors.Is(err, zk.ErrNoAuth) {
		return nil, err
	}
	return s.inherited(dir, r)
}

// inherited is the access list of nodes created below a directory, by the reply about the directory's own.
func (s *ZKSession) inherited(dir string, r connect.Reply) ([]zk.ACL, error) {
	acl, err := aclOf(r)
	switch {
	case err == nil && repeatable(acl):
		return acl, nil
	case err != nil && !errors.Is(err, zk.ErrNoAuth):
		return nil, err
	case s.tap.Authenticated():
		return zk.AuthACL(zk.PermAll), nil
	}
	return nil, fmt.Errorf("%s: %w", dir, errNoACL)
}

func aclOf(r connect.Reply) ([]zk.ACL, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	d := connect.Decoder{Rest: r.Body}
	return d.ACL(), d.Err
}

// repeatable reports whether an access list is whole: servers show "user:x" instead of digests to users who
// may not change it.
func repeatable(acl []zk.ACL) bool {
	for _, a := range acl {
		if a.Scheme == "digest" && strings.HasSuffix(a.ID, ":x") {
			return false
		}
	}
	return len(acl) > 0
}
