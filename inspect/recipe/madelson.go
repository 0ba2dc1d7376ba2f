package recipe

// madelson is the DistributedLock library of .NET: readers and writers ("read-", "write-") and a
// semaphore ("semaphore-"). The semaphore marks a granted permit by the data ACQUIRED
// (src/DistributedLock.ZooKeeper). Its mutex ("lock-") looks the same as a plain tutorial's.
// Readers watch the nearest write before them.
func madelson() Queue {
	return Queue{
		Name:        "madelson",
		Parse:       parseMadelson,
		ReadPrefix:  readPrefix,
		WritePrefix: writePrefix,
		Owner: func(_ Entry, data []byte) (host, label string) {
			t, _ := lockscopeToken("", string(data))
			return "", t.Label
		},
		Proof: func(e Entry, data []byte, sealed bool) Confidence {
			_, ours := lockscopeToken("", string(data)) // package lockops by this recipe
			if !sealed && len(data) > 0 && !Granted(data) && !ours {
				return ""
			}
			return e.Confidence
		},
	}
}

func parseMadelson(child string) (Entry, bool) {
	prefix, seq, ok := SplitSequence(child)
	e := Entry{Name: child, Sequence: seq, Confidence: Possible}
	switch prefix {
	case "read-":
		e.Role, e.Mode = ReadWrite, Shared
	case "write-":
		e.Role = ReadWrite
	case "semaphore-":
		e.Role, e.Live = Lease, true
	default:
		return Entry{}, false
	}
	return e, ok
}

// Granted reports whether a node of a madelson semaphore has its permit.
func Granted(data []byte) bool { return string(data) == "ACQUIRED" }
