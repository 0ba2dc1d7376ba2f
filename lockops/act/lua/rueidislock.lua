-- Deletes those of the keys of one lock that still hold ARGV[1]. It was seen as ARGV[2]: only if that is 'holding', two of
-- them must hold it.
local own = {}
for _, key in ipairs(KEYS) do
  if look('GET', key) == ARGV[1] then
    own[#own + 1] = key
  end
end
if #own == 0 or (#own >= 2) ~= (ARGV[2] == 'holding') then
  return 0
end
for _, key in ipairs(own) do
  call('DEL', key)
end
return 1
