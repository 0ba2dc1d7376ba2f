package hold

import (
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// parseACL parses a ZooKeeper access list as zkCli.sh writes it: SCHEME:ID:PERMISSIONS, separated
// by commas. The id may contain colons. An empty text is an empty list.
func parseACL(text string) ([]zk.ACL, error) {
	if text == "" {
		return nil, nil
	}
	var acl []zk.ACL
	for entry := range strings.SplitSeq(text, ",") {
		scheme, rest, ok := strings.Cut(entry, ":")
		cut := strings.LastIndexByte(rest, ':')
		if !ok || cut < 0 || scheme == "" {
			return nil, fmt.Errorf("%q: use SCHEME:ID:PERMISSIONS, as in world:anyone:r or auth::cdrwa", entry)
		}
		perms, err := parsePermissions(rest[cut+1:])
		if err != nil {
			return nil, err
		}
		acl = append(acl, zk.ACL{Perms: perms, Scheme: scheme, ID: rest[:cut]})
	}
	return acl, nil
}

func parsePermissions(letters string) (perms int32, err error) {
	for _, letter := range letters {
		switch letter {
		case 'c':
			perms |= zk.PermCreate
		case 'd':
			perms |= zk.PermDelete
		case 'r':
			perms |= zk.PermRead
		case 'w':
			perms |= zk.PermWrite
		case 'a':
			perms |= zk.PermAdmin
		default:
			return 0, fmt.Errorf("permission %q: use only the letters cdrwa", letter)
		}
	}
	if perms == 0 {
		return 0, fmt.Errorf("no permissions: use the letters cdrwa")
	}
	return perms, nil
}
