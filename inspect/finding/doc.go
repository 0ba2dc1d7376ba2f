// Package finding diagnoses locks. Each file has one rule, a pure function from the state of a lock
// (or backend) and its surroundings to findings. A finding states the fault with names and figures
// (message) and the facts behind it (evidence, with stable keys that each rule documents;
// evidence.cause is the likely cause). It also states what to do (advice) and how sure it is
// (confidence). [Rules] lists the rules; [inspect.Observer] runs them.
//
// Rules for all findings:
//
//   - A lock that is only possibly one gets no finding worse than info, and no advice except to find
//     out. If a rule could not see something that it needs, its findings are only possible and
//     advise no action.
//   - Rules do not guess. An unread table, a silent master or a short history makes a rule silent,
//     or less sure.
//   - One look may see a change halfway ([Passing]). A continuous watch and doctor report such a
//     finding only when a second look, a second later, finds it again. ls and show look once and
//     report it at once.
//   - The same state gives the same finding: messages have instants and round spans ("for over
//     10m"), never running ages.
//   - All text is escaped. Names in commands are quoted for a shell and guarded: release refuses
//     once the lock has changed. No advice removes a waiter whose client may still run: some
//     clients (go-zookeeper) then grant twice.
//   - Limits come from the lock's own history, if it has one: ten times the 99th percentile of at
//     least 20 spans.
//
// docs/findings.md lists every rule with its meaning, its evidence and what to do. It is generated
// from the rules.
package finding
