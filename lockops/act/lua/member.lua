-- Takes the members ARGV out of the sorted set or set KEYS[1], if the first of them is still in it.
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'zset' and redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  redis.call('ZREM', KEYS[1], unpack(ARGV))
  return 1
end
if kind == 'set' then
  return redis.call('SREM', KEYS[1], ARGV[1])
end
return 0
