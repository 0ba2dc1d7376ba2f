// Package timeline is the screen of one lock over time, with how long waits and holds take and how fair turns are.
package timeline
