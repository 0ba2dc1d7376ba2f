package recipe

import (
	"strings"
)

// madelsonRedis is DistributedLock.Redis (.NET). Its ids are the machine's name, the process id and
// a random GUID, which others may write too. Only the two keys of a read-write lock make it
// certain. The read-write lock NAME is a string NAME.writer and a set NAME.readers, shown under the
// key of the writer. The semaphore is a sorted set of ids with their expiries by the server's clock
// (RedisReaderWriterLockPrimitives.cs, RedisSemaphorePrimitive.cs, RedLockHelper.cs).
func madelsonRedis() Shape {
	return Shape{Name: "madelson", Queries: madelsonQueries, Decode: madelsonDecode}
}

const (
	madelsonWriter  = ".writer"
	madelsonReaders = ".readers"
	madelsonWaiting = "_WRITERWAITING"
)

// MadelsonReaders is the key of the readers of the lock with this writer's key; false if key is not one.
func MadelsonReaders(key string) (string, bool) {
	name, ok := strings.CutSuffix(key, madelsonWriter)
	if !ok {
		return "", false
	}
	return name + madelsonReaders, true
}

// madelsonID reads MachineName_pid_guid.
func madelsonID(id string) (Claim, bool) {
	rest, guid, ok := cutLast(id, "_")
	if !ok || !isHex(guid, 32) || !isRandomUUID(dashed(guid)) {
		return Claim{}, false
	}
	host, pid, ok := cutLast(rest, "_")
	if !ok || host == "" || len(host) > 255 || !isNumber(pid) {
		return Claim{}, false
	}
	return Claim{Name: id, Host: host, PID: pid}, true
}

func madelsonQueries(k Keys) []Query {
	readers, ok := MadelsonReaders(k.Key)
	if !ok {
		return nil
	}
	if _, ours := madelsonID(strings.TrimSuffix(k.Main.Text, madelsonWaiting)); k.Main.Type == TypeNone ||
		k.Main.Type == TypeString && ours {
		return []Query{{readers, TypeSet, Holders}}
	}
	return nil
}

func madelsonDecode(k Keys) (Record, bool) {
	r := Record{Recipe: "madelson", Confidence: Likely, Kind: "semaphore"}
	switch k.Main.Type {
	case TypeZSet:
		for _, m := range k.Main.Items {
			c, ok := madelsonID(m.Name)
			if !ok || m.Score < 1e12 {
				return Record{}, false
			}
			if c.ExpiresAt = k.local(m.Score); c.ExpiresAt.After(k.Now) {
				r.Claims = append(r.Claims, c)
			}
		}
		return r, len(k.Main.Items) > 0
	case TypeSet:
		name, ok := strings.CutSuffix(k.Key, madelsonReaders)
		if _, ours := madelsonMembers(k.Main); !ok || !ours {
			return Record{}, false
		}
		return Record{Recipe: "madelson", PartOf: name + madelsonWriter}, true
	case TypeString, TypeNone:
		return madelsonReadWrite(k)
	}
	return Record{}, false
}

// madelsonMembers reads the set of readers. It has one TTL for all readers, so dead ones linger.
func madelsonMembers(v Value) ([]Claim, bool) {
	var claims []Claim
	for _, m := range v.Items {
		c, ok := madelsonID(m.Name)
		if !ok {
			return nil, false
		}
		c.Mode, c.ExpiresAt, c.NoExpiry = Shared, v.ExpiresAt, v.NoExpiry
		claims = append(claims, c)
	}
	return claims, v.Type == TypeSet && len(claims) > 0
}

func madelsonReadWrite(k Keys) (Record, bool) {
	key, ok := MadelsonReaders(k.Key)
	if !ok {
		return Record{}, false
	}
	r := Record{Recipe: "madelson", Confidence: Likely, Kind: "rw"}
	readers := k.Auxiliary[key]
	r.Claims, _ = madelsonMembers(readers)
	if k.Main.Type == TypeString {
		id, waiting := strings.CutSuffix(k.Main.Text, madelsonWaiting)
		if waiting || len(r.Claims) > 0 {
			r.Confidence = Certain
		}
		c, ok := madelsonID(id)
		if !ok {
			return Record{}, false
		}
		c.Name, c.Waiting, c.ExpiresAt, c.NoExpiry = k.Main.Text, waiting, k.Main.ExpiresAt, k.Main.NoExpiry
		r.Claims = append(r.Claims, c)
	}
	return r, len(r.Claims) > 0
}
