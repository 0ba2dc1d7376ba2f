package sandbox

// Scene is one thing to see in a scenario.
type Scene struct {
	// Title names it in a word or two; Text describes it, and names the key that shows it.
	Title, Text string
	// Lock is the id of the lock that it is about.
	Lock string
}

// Scenes of the scenarios that are played, in the order of a guided tour.
func (s *Sandbox) Scenes() []Scene { return s.scenes }
