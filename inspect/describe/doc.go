// Package describe puts the results of inspect into words for people: verdicts, ages, evidence,
// refusals, unknown facts with their reasons, and the commands in advice. The command line, the
// screens and the findings all take their words from here.
//
// It knows no colours and no glyphs. Text from servers comes out escaped, and may contain the characters … · – → ≤ ≥, which
// output in ASCII replaces.
package describe
