package lockops

// Requests counts the requests that the session has sent, pings and connect requests left out.
func (s *ZKSession) Requests() uint64 { return s.tap.Requests() }

// Requests counts the commands that the session has sent to its masters, a script as one, subscriptions too. What
// go-redis sends to set a connection up is left out.
func (s *RedisSession) Requests() uint64 {
	var sum uint64
	for _, m := range s.masters {
		sum += m.requests.Load() + m.subscriber.requests.Load()
	}
	return sum
}
