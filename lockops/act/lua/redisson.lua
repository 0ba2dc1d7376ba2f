-- Deletes a Redisson lock KEYS[1], and the keys of the owner's read holds KEYS[3] and on, if the field ARGV[1] still
-- holds it, as forceUnlock does; tells message ARGV[3] to the next of the fair queue KEYS[2] and on channel ARGV[2].
if redis.call('TYPE', KEYS[1])['ok'] ~= 'hash' or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('DEL', KEYS[1])
for i = 3, #KEYS do
  redis.call('DEL', KEYS[i])
end
local function tell(channel)
  redis.call('PUBLISH', channel, ARGV[3])
  redis.pcall('SPUBLISH', channel, ARGV[3]) -- since Redis 7
end
if redis.call('TYPE', KEYS[2])['ok'] == 'list' then
  tell(ARGV[2] .. ':' .. redis.call('LINDEX', KEYS[2], 0))
end
tell(ARGV[2])
return 1
