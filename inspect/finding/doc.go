// Package finding diagnoses locks: a rule a file, each a pure function from the state of one lock (or backend) and what is
// known around it to findings. A finding says what is wrong with names and figures (message), what it rests on (evidence,
// with stable keys that each rule documents; evidence.cause is the likely cause), what to do about it (advice) and how
// sure it is (confidence). [Rules] lists them; [inspect.Observer] asks them.
//
// What holds for all of them:
//
//   - On what is only possibly a lock nothing is worse than info, and nothing is advised but to find out; where something
//     was not seen that a rule rests on, its findings are only possible and advise no action ([tempered]).
//   - What is not known is not guessed. A table that was not read, a master that did not answer or a history that is too
//     short makes a rule silent, or less sure.
//   - What one look may see halfway ([Passing]) is told, by who watches and by doctor, when a second look, a second later, finds
//     the same; ls and show, which look once, tell it at once.
//   - The same state gives the same finding: messages tell instants and round spans ("for over 10m"), never running ages.
//   - All text is escaped. Names in commands are quoted for a shell, and guarded: release refuses when what was seen has
//     changed. No advice removes a waiter whose client may still run: some clients (go-zookeeper) then grant twice.
//   - Limits come from the lock's own history where there is one: ten times the 99th percentile of at least 20 spans.
//
// Critical:
//
//	rule                  means                                        evidence                           what to do
//	deadlock              owners wait for each other in a circle       locks, owners, cheapest            stop one; take locks in one order
//	split-quorum          masters hold different values, no quorum     ballot, masters, expires_at        wait; release one that never expires
//	mixed-recipes         libraries that cannot queue together         libraries, heads                   one library a path
//	semaphore-overcommit  more leases than permits                     held, limit, holders               the same number for all clients
//	persistent-contender  a contender that no session owns             contender, count, blocked_below    release it when its client is gone
//
// Warning:
//
//	stuck-holder          held for too long while others wait          contender, held_over, known,       look at the holder; release it
//	                                                                   limit_ms, hold_p99_ms, waiters
//	ghost-owner           its owner is connected nowhere, or dead      contender, session, last_contact   wait for the session to time out
//	missing-watch         a waiter that nothing will wake up           contender, expected                restart that client
//	lost-wakeup           the first in line watches a node that is gone  contender, watches_gone          see what it does; restart it
//	                      (info where its library may have looked again)
//	herd                  10 sessions watch one node                   node, watchers, sessions           watch the predecessor only
//	alien-child           a child that is no contender                 children                           move it elsewhere
//	no-ttl                a key that never expires (info where the     contender or value, masters        release it when its client is gone
//	                      library writes it so by default)
//	renewal-stopped       two renewals were missed (watched only)      every_ms, last_renewal, expires_at stop the work before it expires
//	zombie-renewal        renewed far longer than usual (watched only) held_over, every_ms, hold_p99_ms   restart the client
//	minority-leftover     one value, below the quorum                  value, votes, masters, expires_at  wait; release it
//	suspect-target        given as masters of one lock, but it is not    masters, locks, on_one; master     give each as its own
//	                      (backend, or the lock of a library that         or value, library, masters
//	                      takes locks on one server)
//	servers-disagree      given as one ensemble, and are none (backend) servers                          a target for each
//	thin-margin           just a quorum of three or more masters       votes, quorum, without             see why they lack it
//	master-restarted      a master lost the key in a restart           master, started_at                 delayed restart
//	clock-skew            clocks more than 1 s apart (backend)         servers, between, apart_ms         fix NTP, slew
//	stale-fair-queue      waiters of a fair queue are gone             contenders, stale, head            wait; release them
//	starvation            a waiter is overtaken again and again        contender, overtaken, wait_p99_ms  use a fair lock
//	                      (watched only)
//	eviction-risk         a full server evicts locks (backend)         servers                            a server of their own, noeviction
//	foreign-value         something else stands under the key          masters                            another name
//
// Info:
//
//	blind                 what could not be seen, beside what sources  unseen, masters                    allow it, or count it for nobody
//	                      tell themselves
//	sequence-wrap         numbers about to wrap, or wrapped            sequence, left                     a new directory
//	self-wait             a client waits for itself (a warning after   contender, holder or behind        wait; restart it
//	                      StuckAfter, or behind an entry it has lost)
package finding
