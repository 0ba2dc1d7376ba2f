// Package finding diagnoses locks: a rule a file, each a pure function from the state of one lock (or
// backend) and what is known around it to findings. A finding has the fault with names and figures (message),
// what it rests on (evidence, with stable keys that each rule documents; evidence.cause is the likely cause),
// what to do about it (advice) and how sure it is (confidence). [Rules] lists them; [inspect.Observer] asks
// them. A file has all of its rule.
//
// What holds for all of them:
//
//   - On what is only possibly a lock nothing is worse than info, and nothing is advised but to find out; where something
//     was not seen that a rule rests on, its findings are only possible and advise no action.
//   - What is not known is not guessed. A table that was not read, a master that did not answer or a history that is too
//     short makes a rule silent, or less sure.
//   - What one look may see halfway ([Passing]) is reported, by who watches and by doctor, when a second look, a second later, finds
//     the same; ls and show, which look once, report it at once.
//   - The same state gives the same finding: messages have instants and round spans ("for over 10m"), never running ages.
//   - All text is escaped. Names in commands are quoted for a shell, and guarded: release refuses when what was seen has
//     changed. No advice removes a waiter whose client may still run: some clients (go-zookeeper) then grant twice.
//   - Limits come from the lock's own history where there is one: ten times the 99th percentile of at least 20 spans.
//
// docs/findings.md lists all of them with what they mean, their evidence and what to do; it is made from the rules.
package finding
