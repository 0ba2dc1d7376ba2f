package inspect

// Reach holds the words of a shell that commands need to reach a backend: quoted, and never with a
// secret. Empty fields are unknown, as in a recording.
type Reach struct {
	// Target names it to lockscope: a target or a profile.
	Target string
	// Client arguments of the service's own client: all of them for zkCli.sh, those besides host and port for
	// redis-cli.
	Client string
}

// Advise makes the rules' advice name the backends, so that its commands can be pasted unchanged.
// Call it before Run.
func (o *Observer) Advise(reach map[string]Reach) { o.reach = reach }
