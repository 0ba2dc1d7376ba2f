// Package timeline is the screen of one lock over time. It shows how long waits and holds take,
// and how fair the order of grants is.
package timeline
