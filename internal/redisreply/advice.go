package redisreply

import "strings"

// answers are the errors that a Redis server gives to every request, by the beginning of their
// text, with advice. Ending a script or admitting clients is the operator's decision.
var answers = []struct{ text, word, do string }{
	{"LOADING", "LOADING", "it is loading its data into memory: wait until it has finished"},
	{
		"BUSY ", "BUSY",
		"a script has run on it for too long: wait, or let a person decide whether SCRIPT KILL may end it",
	},
	{
		"MASTERDOWN", "MASTERDOWN",
		"it is a replica without a link to its master: repair that link, or use the master instead",
	},
	{"CLUSTERDOWN", "CLUSTERDOWN", "its Cluster serves no keys: see redis-cli CLUSTER INFO on it"},
	{"NOAUTH", "NOAUTH", "it requires a user or a password: check the profile, or LOCKSCOPE_REDIS_USERNAME and " +
		"LOCKSCOPE_REDIS_PASSWORD"},
	{
		"WRONGPASS", "WRONGPASS",
		"the user or the password is wrong: check the profile, or LOCKSCOPE_REDIS_USERNAME and LOCKSCOPE_REDIS_PASSWORD",
	},
	{"NOPERM", "NOPERM", "its ACL denies that to this user: see lockscope doctor --access"},
	{"DENIED", "DENIED", "protected mode only admits clients on its own host: let a person decide whether to set a " +
		"password and bind"},
	{
		"ERR max number of clients", "that it has too many clients",
		"its connections are used up: see who has them (CLIENT LIST), or raise maxclients",
	},
}

// Advice returns the word for an error that a Redis server gives to every request, and what to do
// about it. Both are empty for any other text, such as that of a server that does not answer.
func Advice(text string) (word, do string) {
	for _, a := range answers {
		if strings.HasPrefix(text, a.text) || strings.Contains(text, ": "+a.text) {
			return a.word, a.do
		}
	}
	return "", ""
}
