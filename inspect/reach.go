package inspect

// Reach holds what commands need to reach a backend, as words of a shell: quoted, and never with a secret.
// What is empty is unknown, as of a recording.
type Reach struct {
	// Target names it to lockscope: a target or a profile.
	Target string
	// Client arguments of the service's own client: all of them for zkCli.sh, those besides host and port for
	// redis-cli.
	Client string
}

// Advise has the rules' advices name the backends so that their commands can be pasted as they stand. Call it
// before Run.
func (o *Observer) Advise(reach map[string]Reach) { o.reach = reach }
