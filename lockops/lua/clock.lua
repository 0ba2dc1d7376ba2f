-- Returns "seconds microseconds" of the clock of the server that has KEYS[1].
local now = redis.call('TIME')
return now[1] .. ' ' .. now[2]
