// Package describe puts what inspect found into words for people: verdicts, ages, evidence, what is unknown and why,
// refusals, and the commands that an advice names. The command line, the screens and the findings all take their words
// from here.
//
// It knows no colours and no glyphs. Text from servers comes out escaped, and may hold the signs … · – → ≤ ≥, which a
// face that prints only ASCII replaces.
package describe
