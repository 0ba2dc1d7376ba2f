// Package wild tests what the program says about locks that people reported as stuck, lost or doubtful, and
// about data that only looks like locks.
//
// Each file in cases is one public report: its address, what happened, the data that it leaves on
// the servers, what a good colleague would have said, and what doctor must say. To add a case, add
// a file. The data are written by hand from the report; no code or wording is copied.
//
//	report: https://github.com/…        says: one sentence
//	redis:                              commands for the first master; [2, SET, …] for the second
//	  - [SET, lock:report, worker-1]    SUBSCRIBE keeps a connection that listens
//	zookeeper:                          ephemeral nodes of named sessions
//	  - {session: a, create: /locks/orders/lock-, sequential: true, data: host-1}
//	  - {session: a, watch: /locks/orders/lock-0000000000}
//	target: "?match=…"                  what follows the Redis servers in the target
//	through: balancer                   or twemproxy, sentinel, cluster: what is in front of the servers
//	real: true                          embedded servers do not show it
//	expect:
//	  locks:                            all that are listed; findings are "rule severity", all but blind
//	    "lock:report": {state: held, findings: [no-ttl info]}
//	  partial: true                     not all could be read: exit code 3
//	  not_locks: ["block:7"]            not listed, or possible without a finding
//	known_wrong: why                    the program is wrong about it; the test fails once it is right
//
// In all texts, <ms -2h>, <s -2h> and <time -2h> are instants, <hex 01ff> is bytes and <session a> is the id of
// a session. The data are played into embedded servers, and into real ones where LOCKSCOPE_REAL asks for it.
package wild
