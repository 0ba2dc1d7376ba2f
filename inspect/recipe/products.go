package recipe

import "strings"

// zkRuby is the zk gem: exclusive and shared lockers ("ex", "sh") and elections ("ballot"),
// directly followed by the number (lib/zk/locker/*.rb, lib/zk/election/base.rb). A reader watches
// the nearest write ahead of it.
func zkRuby() Queue {
	return Queue{Name: "zk-ruby", Parse: parseZKRuby, Owner: labelOnly}
}

func parseZKRuby(child string) (Entry, bool) {
	prefix, seq, ok := SplitSequence(child)
	e := Entry{Name: child, Sequence: seq, Confidence: Likely}
	switch prefix {
	case "ex":
		e.Role = ReadWrite
	case "sh":
		e.Role, e.Mode = ReadWrite, Shared
	case "ballot":
		e.Role = Candidate
	default:
		return Entry{}, false
	}
	return e, ok
}

// hbase is HBase's table locks before 2.0: "read-" or "write-", HOST:PORT or NAME:PORT of the
// owner, and the number. Only its last ten digits are the server's:
// read-regionserver:600200000000002 has number 2 (ZKInterProcessLockBase.java,
// RecoverableZooKeeper.java createSequential).
func hbase() Queue {
	return Queue{
		Name: "hbase", Parse: parseHBase, Owner: hbaseOwner,
		Proof: func(e Entry, data []byte, sealed bool) Confidence {
			switch {
			case sealed:
				return e.Confidence
			// ProtobufMagic.java: before every HBase message in ZooKeeper
			case strings.HasPrefix(string(data), "PBUF"):
				return Certain
			}
			return ""
		},
	}
}

func parseHBase(child string) (Entry, bool) {
	prefix, seq, ok := SplitSequence(child)
	if !ok {
		return Entry{}, false
	}
	e := Entry{Name: child, Sequence: seq, Role: ReadWrite, Confidence: Likely}
	who, reads := strings.CutPrefix(prefix, "read-")
	if reads {
		e.Mode = Shared
	} else if who, ok = strings.CutPrefix(prefix, "write-"); !ok {
		return Entry{}, false
	}
	name, port, ok := strings.Cut(who, ":")
	return e, ok && name != "" && port != "" && strings.Trim(port, decimals) == ""
}

// hbaseOwner reads the process from the name. The data is a protobuf message after the letters PBUF.
func hbaseOwner(e Entry, _ []byte) (host, label string) {
	prefix, _, _ := SplitSequence(e.Name)
	_, who, _ := strings.Cut(prefix, "-")
	return "", who
}

// hive is Hive's ZooKeeperHiveLockManager: "LOCK-SHARED-", "LOCK-EXCLUSIVE-" or
// "LOCK-SEMI_SHARED-". On a conflict it deletes its node and tries again later, so no queue is ever
// visible. Explicit LOCK TABLE makes persistent nodes. Its data is
// queryId:lockTime:lockMode:queryStr:clientIp (HiveLockObject.java).
func hive() Queue {
	return Queue{
		Name: "hive", Parse: parseHive, Owner: hiveOwner,
		Proof: func(e Entry, data []byte, sealed bool) Confidence {
			fields := strings.Split(string(data), ":")
			switch {
			case sealed:
				return e.Confidence
			case len(fields) >= 3 && (fields[2] == "EXPLICIT" || fields[2] == "IMPLICIT"):
				return Certain
			}
			return ""
		},
	}
}

func parseHive(child string) (Entry, bool) {
	prefix, seq, ok := SplitSequence(child)
	e := Entry{Name: child, Sequence: seq, Role: ReadWrite, Confidence: Likely}
	switch prefix {
	case "LOCK-SHARED-", "LOCK-SEMI_SHARED-":
		e.Mode = Shared
	case "LOCK-EXCLUSIVE-":
	default:
		return Entry{}, false
	}
	return e, ok
}

func hiveOwner(_ Entry, data []byte) (host, label string) {
	fields := strings.Split(string(data), ":")
	if len(fields) < 3 {
		return "", string(data)
	}
	if len(fields) >= 5 {
		host = fields[len(fields)-1]
	}
	return host, fields[0]
}

// solr is the election of Solr's overseer and shard leaders. A name is the session in decimal, the
// node's or replica's name, and "-n_" with the number. A client that joins at the head reuses the
// number of the second in line. Equal numbers are in order of name (LeaderElector.java).
func solr() Queue {
	return Queue{Name: "solr", Parse: parseSolr, Owner: solrOwner, Proof: func(e Entry, _ []byte, _ bool) Confidence {
		session, _, _ := cutSolr(e.Name)
		return bySession(e, session)
	}}
}

func parseSolr(child string) (Entry, bool) {
	_, seq, ok := SplitSequence(child)
	session, who, elects := cutSolr(child)
	_, isSession := sessionOf(session)
	return Entry{Name: child, Sequence: seq, Role: Candidate, Confidence: Likely},
		ok && elects && who != "" && isSession
}

// cutSolr splits a name into its session, in decimal, and its owner.
func cutSolr(child string) (session, who string, ok bool) {
	prefix, _, _ := SplitSequence(child)
	prefix, ok = strings.CutSuffix(prefix, "-n_")
	sign := ""
	if strings.HasPrefix(prefix, "-") {
		sign = "-"
	}
	session, who, found := strings.Cut(strings.TrimPrefix(prefix, "-"), "-")
	return sign + session, who, ok && found
}

func solrOwner(e Entry, _ []byte) (host, label string) {
	_, who, _ := cutSolr(e.Name)
	return "", who
}
