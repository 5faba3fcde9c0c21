-- Vouches for the filter until a time, if it is still the one that was caught up.
-- KEYS: filter, state, voucher. ARGV: build, the history of this server, milliseconds since 1970.
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HGET', KEYS[2], 'build') ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[3], ARGV[2], 'PXAT', ARGV[3])
return 1
