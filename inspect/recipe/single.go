package recipe

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"time"
)

// Single is a lock of one znode, without a queue: its creator holds it.
type Single struct {
	Recipe     string
	Confidence Confidence
	// Kind as in the JSON; empty means a mutex.
	Kind string
	// Until is the instant until which the lock is held, if its data says so. Zero means as long as
	// the node exists.
	Until time.Time
	// Free means that the node stays, and its data mark it free.
	Free bool
	// Label that the owner gives itself, and its Host.
	Label, Host string
}

// Singles returns which children of a directory must be read although no recipe takes them for
// contenders. ephemeralNodes means that any ephemeral child may be a lock, not only a lone one.
// persistent means that persistent children are locks.
func Singles(dir string) (ephemeralNodes, persistent bool) {
	node := path.Join(dir, "x")
	persistent = isHelix(dir) ||
		slices.ContainsFunc(singleNodes(), func(l library) bool { return l.Persistent && l.custom.Owns(node) })
	return dir == "/", persistent
}

// ReadSingle reads a node, by its path and data, as a lock; false if it is not one. alone means
// that it is the only ephemeral node of its directory.
func ReadSingle(node string, data []byte, ephemeral, alone bool) (Single, bool) {
	dir, name := path.Dir(node), path.Base(node)
	switch {
	case !ephemeral && isHelix(dir):
		return readHelix(data)
	case ephemeral && !alone && dir != "/":
		return Single{}, false
	}
	for _, l := range singleNodes() {
		if l.Persistent == ephemeral {
			continue
		}
		if t, ok := l.custom.read(node, name, string(data)); ok {
			return Single{
				Recipe: t.Recipe, Confidence: t.Confidence, Kind: t.Kind, Until: t.Until, Label: t.Label,
				Host: t.Host,
			}, true
		}
	}
	return Single{Recipe: "ephemeral", Confidence: Possible, Label: string(data)}, ephemeral && alone
}

// Vacated returns the data that frees a lock that is a persistent znode, held as its data says. It
// returns false for other locks, which are free without their znode. ShedLock's holder could not
// unlock a deleted znode (ZookeeperCuratorLockProvider.java, doUnlock). A waiter for a lock of
// Helix looks only at changes of its data (ZKDistributedNonblockingLock.java, handleDataDeleted).
func Vacated(library string, data []byte) ([]byte, bool) {
	switch library {
	case "shedlock":
		return []byte(time.Unix(0, 0).UTC().Format("2006-01-02T15:04:05.000Z")), true // expired by every client's clock
	case "helix":
		return vacatedHelix(data)
	}
	return nil, false
}

// vacatedHelix removes the owner, as Helix does when an owner makes room for a requestor
// (CleanupUpdater). The rest of the record stays.
func vacatedHelix(data []byte) ([]byte, bool) {
	var record map[string]json.RawMessage
	var fields map[string]string
	if json.Unmarshal(data, &record) != nil || json.Unmarshal(record["simpleFields"], &fields) != nil || fields == nil {
		return nil, false
	}
	fields["OWNER"], fields["TIMEOUT"] = "", "-1"
	var err error
	if record["simpleFields"], err = json.Marshal(fields); err != nil {
		return nil, false
	}
	free, err := json.Marshal(record)
	return free, err == nil
}

// isHelix reports whether Helix keeps locks in a directory: CLUSTER/LOCK has one for each scope
// (HelixLockScope.java).
func isHelix(dir string) bool {
	in, scope := path.Split(dir)
	return path.Base(in) == "LOCK" && path.Dir(path.Clean(in)) != "/" &&
		(scope == "CLUSTER" || scope == "PARTICIPANT" || scope == "RESOURCE")
}

// readHelix reads a ZNRecord: a lock is held by OWNER until TIMEOUT, in milliseconds since 1970 (LockInfo.java).
func readHelix(data []byte) (Single, bool) {
	var record struct {
		ID     string `json:"id"`
		Fields struct {
			Owner   string  `json:"OWNER"`
			Message *string `json:"MESSAGE"`
			Timeout string  `json:"TIMEOUT"`
		} `json:"simpleFields"`
	}
	if err := json.Unmarshal(data, &record); err != nil || record.ID != "LOCK" {
		return Single{}, false
	}
	s := Single{Recipe: "helix", Confidence: Likely, Label: record.Fields.Owner, Free: record.Fields.Owner == ""}
	ms, err := strconv.ParseInt(record.Fields.Timeout, 10, 64)
	if err == nil && ms > 0 {
		s.Until = time.UnixMilli(ms)
	}
	if err == nil && record.Fields.Message != nil { // LockInfo writes all of its fields
		s.Confidence = Certain
	}
	return s, true
}
