-- Takes the reader ARGV[1] out of the Redisson read-write lock KEYS[1], with the keys of its holds KEYS[2] and on, if it
-- is still in it and readers hold it; the last one frees the lock, and channel ARGV[2] is told.
if redis.call('TYPE', KEYS[1])['ok'] ~= 'hash' or redis.call('HGET', KEYS[1], 'mode') ~= 'read' then
  return 0
end
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then
  return 0
end
for i = 2, #KEYS do
  redis.call('DEL', KEYS[i])
end
if redis.call('HLEN', KEYS[1]) == 1 then
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', ARGV[2], '0')
  redis.pcall('SPUBLISH', ARGV[2], '0') -- since Redis 7
end
return 1
