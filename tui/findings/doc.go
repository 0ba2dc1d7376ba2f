// Package findings is the screen of problems, with evidence and advice.
package findings
