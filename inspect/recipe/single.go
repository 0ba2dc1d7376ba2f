package recipe

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"strconv"
	"time"
)

// Single is a lock of one znode, without a queue: its creator holds it.
type Single struct {
	Recipe     string
	Confidence Confidence
	// Until is the instant until which the lock is held, where its data says so; zero: as long as the node is there.
	Until time.Time
	// Free: the node stays, and its data mark it free.
	Free bool
	// Label that the owner gives itself.
	Label string
}

// Singles returns which children that no recipe takes for contenders have to be read. ephemeralNodes: each
// ephemeral one may be a lock, not only one that is alone. persistent: persistent ones are locks.
func Singles(dir string) (ephemeralNodes, persistent bool) {
	return dir == "/", path.Base(dir) == "shedlock" || isHelix(dir)
}

// ReadSingle reads the data of a node in a directory as a lock; false if it is not one. alone means
// that it is the only ephemeral node of the directory.
func ReadSingle(dir string, data []byte, ephemeral, alone bool) (Single, bool) {
	everyOne, persistent := Singles(dir)
	switch {
	case ephemeral && everyOne && isSymfony(data):
		return Single{Recipe: "symfony", Confidence: Likely}, true
	case ephemeral && alone:
		return Single{Recipe: "ephemeral", Confidence: Possible, Label: string(data)}, true
	case !ephemeral && isHelix(dir):
		return readHelix(data)
	case !ephemeral && persistent:
		return readShedLock(data)
	}
	return Single{}, false
}

// isSymfony: the ZookeeperStore of Symfony's Lock writes standard base64 of 32 random bytes into an ephemeral
// node at the root (symfony/lock Store/ZookeeperStore.php).
func isSymfony(data []byte) bool {
	return len(data) == 44 && isBase64(base64.StdEncoding, string(data), 32)
}

// readShedLock: ShedLock keeps a persistent node a lock in /shedlock, its data the instant until which it is held. What
// cannot be read counts as held (ZookeeperCuratorLockProvider.java).
func readShedLock(data []byte) (Single, bool) {
	until, err := time.Parse(time.RFC3339Nano, string(data))
	if err != nil {
		return Single{Recipe: "shedlock", Confidence: Possible}, true
	}
	return Single{Recipe: "shedlock", Confidence: Likely, Until: until}, true
}

// Vacated returns the data that frees a lock that is a persistent znode, held as its data says. It
// returns false for other locks, which are free without their znode. ShedLock's holder could not
// unlock a deleted znode (ZookeeperCuratorLockProvider.java, doUnlock). A waiter for a lock of
// Helix looks only at changes of its data (ZKDistributedNonblockingLock.java, handleDataDeleted).
func Vacated(library string, data []byte) ([]byte, bool) {
	switch library {
	case "shedlock":
		return []byte(time.Unix(0, 0).UTC().Format("2006-01-02T15:04:05.000Z")), true // over by every client's clock
	case "helix":
		return vacatedHelix(data)
	}
	return nil, false
}

// vacatedHelix takes the owner out, as Helix does when one makes room for a requestor (CleanupUpdater), and
// leaves the rest of the record as it is.
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

// isHelix: Helix keeps its locks in CLUSTER/LOCK, in a directory for each scope (HelixLockScope.java).
func isHelix(dir string) bool {
	in, scope := path.Split(dir)
	return path.Base(in) == "LOCK" && path.Dir(path.Clean(in)) != "/" && (scope == "CLUSTER" || scope == "PARTICIPANT" || scope == "RESOURCE")
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
