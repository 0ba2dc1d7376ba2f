package sandbox

import (
	"embed"
	"fmt"
)

// Scene is one thing to see in a scenario.
type Scene struct {
	// Title names it in a word or two; Text describes it, and names the key that shows it.
	Title, Text string
	// Lock is the id of the lock that it is about.
	Lock string
}

// Scenes returns the scenes of the running scenario, in the order of a guided tour.
func (s *Sandbox) Scenes() []Scene { return s.scenes }

//go:embed scenes/*.yaml
var files embed.FS

// Scenarios returns all scenarios; "tour" plays them at once, on different locks.
func Scenarios() []Scenario {
	var all []Scenario
	for _, name := range []string{"stuck", "fair", "deadlock", "rw", "semaphore", "redlock", "split"} {
		text, err := files.ReadFile("scenes/" + name + ".yaml")
		var s Scenario
		if err == nil {
			s, err = parseScenario(name, text)
		}
		if err != nil {
			panic(fmt.Sprintf("scene %s: %v", name, err)) // a file of ours; a test reads them all
		}
		all = append(all, s)
	}
	return all
}
