// Package finding diagnoses locks: a rule a file, each from the state of one lock (or backend) and what is known around
// it to findings with evidence, cause, advice and confidence. Rules are pure functions and do no I/O.
package finding
