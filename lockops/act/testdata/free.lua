-- Releases the lock as its library does. Returns 1 if the holder still had it.
local freed = 0
for _, key in ipairs(KEYS) do
  if has(key) then
    freed = 1
    local kind = redis.call('TYPE', key).ok
    if kind == 'string' then redis.call('DEL', key) end
    if kind == 'set' then redis.call('SREM', key, ARGV[1]) end
    if kind == 'zset' then
      redis.call('ZREM', key, ARGV[1], '__write__')
      if string.find(key, ':timeout', 1, true) then redis.call('INCRBY', KEYS[1], 1) end
    end
    if kind == 'hash' then
      redis.call('HDEL', key, ARGV[1])
      if redis.call('HLEN', key) == 1 and redis.call('HEXISTS', key, 'mode') == 1 then redis.call('DEL', key) end
    end
  end
end
return freed
