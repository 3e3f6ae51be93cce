-- What reaps charged in this shard and the ledger may not know, before the shard is forgotten. Not fenced; changes nothing.
-- KEYS 1 reaped
-- ARGV 1 prefix of hold keys
-- Returns {rid, charged, payload, ...}
local function unbooked_reaps(KEYS, ARGV)
  local flat = {}
  for _, rid in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '+inf')) do
    local key = ARGV[1] .. rid
    local hold = redis.call('HMGET', key, 'st', 'c0', 'c1')
    if hold[2] and (hold[1] == 'reaped' or hold[3]) then
      for _, value in ipairs({ rid, hold[2], reap_payload(key) }) do table.insert(flat, value) end
    end
  end
  return flat
end
