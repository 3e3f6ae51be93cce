-- Returns the charges of reaps in this shard that the ledger may lack, before the shard is forgotten. It is not fenced and changes nothing.
-- KEYS 1 reaped
-- ARGV 1 prefix of hold keys
-- Returns {rid, charged, payload, ...}
local function unbooked_reaps(KEYS, ARGV)
  local flat = {}
  for _, rid in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '+inf')) do
    local hold = read_hold(ARGV[1] .. rid)
    if is_reaped(hold) then
      for _, value in ipairs({ rid, text(hold.c0), reap_payload(hold) }) do table.insert(flat, value) end
    end
  end
  return flat
end
