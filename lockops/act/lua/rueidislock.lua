-- Deletes those of the keys of one lock that still hold ARGV[1].
local deleted = 0
for _, key in ipairs(KEYS) do
  if redis.call('TYPE', key)['ok'] == 'string' and redis.call('GET', key) == ARGV[1] then
    deleted = redis.call('DEL', key)
  end
end
return deleted
