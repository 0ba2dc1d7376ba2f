package zkserver

import (
	"strings"
	"time"
)

// maxPacket is the longest packet accepted from a client, in bytes, unless Config says otherwise:
// jute.maxbuffer as the real server ships it.
const maxPacket = 0xfffff

// sessionlessTimeout limits a connection without a session.
const sessionlessTimeout = 10 * time.Second

// Request codes, and the special xids. Numbers are the wire protocol's (ZooDefs.OpCode).
const (
	opCreate          = 1
	opDelete          = 2
	opExists          = 3
	opGetData         = 4
	opSetData         = 5
	opGetACL          = 6
	opSetACL          = 7
	opGetChildren     = 8
	opSync            = 9
	opPing            = 11
	opGetChildren2    = 12
	opCheck           = 13
	opMulti           = 14
	opCreate2         = 15
	opRemoveWatches   = 18
	opCreateContainer = 19
	opMultiRead       = 22
	opAuth            = 100
	opSetWatches      = 101
	opSetWatches2     = 105
	opAddWatch        = 106
	opCloseSession    = -11
	opError           = -1

	xidNotification = -1
	xidPing         = -2
)

// errCode is an error as it travels in a reply (KeeperException.Code).
type errCode int32

const (
	codeOK                      errCode = 0
	codeRuntimeInconsistency    errCode = -2
	codeMarshalling             errCode = -5
	codeUnimplemented           errCode = -6
	codeBadArguments            errCode = -8
	codeNoNode                  errCode = -101
	codeNoAuth                  errCode = -102
	codeBadVersion              errCode = -103
	codeNoChildrenForEphemerals errCode = -108
	codeNodeExists              errCode = -110
	codeNotEmpty                errCode = -111
	codeSessionExpired          errCode = -112
	codeInvalidACL              errCode = -114
	codeAuthFailed              errCode = -115
	codeNoWatcher               errCode = -121
	codeThrottled               errCode = -127
)

type eventType int32

const (
	nodeCreated         eventType = 1
	nodeDeleted         eventType = 2
	nodeDataChanged     eventType = 3
	nodeChildrenChanged eventType = 4
)

// stateSyncConnected is the connection state that every watch event carries.
const stateSyncConnected = 3

// Create modes, as in the flags field of a create request.
const (
	modePersistent           = 0
	modeEphemeral            = 1
	modePersistentSequential = 2
	modeEphemeralSequential  = 3
	modeContainer            = 4
)

// connectRequest opens every connection, without a request header.
type connectRequest struct {
	protocol     int32
	lastZxidSeen int64
	timeout      time.Duration
	session      int64
	password     []byte
	hasReadOnly  bool // clients since 3.4 send one byte more and get one more back
}

func decodeConnect(d *decoder) connectRequest {
	r := connectRequest{
		protocol:     d.Int(),
		lastZxidSeen: d.Long(),
		timeout:      time.Duration(d.Int()) * time.Millisecond,
		session:      d.Long(),
		password:     d.buffer(),
	}
	if d.Err == nil && len(d.Rest) > 0 {
		r.hasReadOnly = true
		d.Bool()
	}
	return r
}

// parentOf cuts the last element off a path; the second result is false if there is no slash. The parent of
// "/a" is "/".
func parentOf(path string) (parent, name string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 || strings.IndexByte(path, 0) >= 0 {
		return "", "", false
	}
	if i == 0 {
		return "/", path[1:], true
	}
	return path[:i], path[i+1:], true
}
