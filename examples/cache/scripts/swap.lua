-- Puts the successor in the filter's place.
-- KEYS: filter, state, done; the same of the successor; voucher. ARGV: build, the history in which it was caught up.
if redis.call('EXISTS', KEYS[4]) == 0 or redis.call('HGET', KEYS[5], 'build') ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[3])
for part = 1, 3 do
  if redis.call('EXISTS', KEYS[part + 3]) == 1 then
    redis.call('RENAME', KEYS[part + 3], KEYS[part])
  end
end
-- A copy that was caught up on another server may lag here.
if redis.call('GET', KEYS[7]) ~= ARGV[2] then
  redis.call('DEL', KEYS[7])
end
return 1
