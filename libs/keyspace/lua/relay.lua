-- Polls a shard once for its relay: takes or renews the lease, forgets what was relayed, reads what is next, and lists holds whose lease ran out.
-- It is not fenced: an outbox is emptied whatever happened to its shard.
-- KEYS 1 relay lease  2 outbox  3 holds  4 epoch  5 latest time
-- ARGV 1 owner  2 lease ms (0 = give the lease up, read nothing)  3 entries max  4 bytes max  5 expired holds max  6 prefix of hold keys
--      7 now (tests only)  8... outbox ids relayed
-- Returns LEASED, outbox length, epoch or none, {rid, account id, model id, ...} of expired holds, {outbox id, rid, seq, delta, payload, ...} of entries
--      or HELD_ELSEWHERE, ms left | RELEASED
-- An entry that another program wrote may lack fields: it leaves with empty ones, and booking sets it aside. It must not stop its shard.
local function next_entries(outbox, entries_max, bytes_max)
  local flat, bytes = {}, 0
  for i, entry in ipairs(redis.call('XRANGE', outbox, '-', '+', 'COUNT', entries_max)) do
    local fields = entry[2]
    local payload = fields[8] or ''
    bytes = bytes + #payload
    if i > 1 and bytes > bytes_max then break end
    for _, value in ipairs({ entry[1], fields[2] or '', fields[4] or '', fields[6] or '', payload }) do table.insert(flat, value) end
  end
  return flat
end

local function expired_holds(holds, prefix, now, holds_max)
  local flat = {}
  for _, rid in ipairs(redis.call('ZRANGEBYSCORE', holds, '-inf', text(now), 'LIMIT', 0, holds_max)) do
    local hold = read_hold(prefix .. rid)
    if hold and hold.acct then
      for _, value in ipairs({ rid, hold.acct, hold.model }) do table.insert(flat, value) end
    else
      redis.call('ZREM', holds, rid)
    end
  end
  return flat
end

-- A lease is never longer than this. One that ends later was taken while the clock was ahead: its node may be gone, and would keep its tokens for a day.
local LEASE_MAX_MS = 10 * 60 * 1000
local LEASE_ANEW_MS = 60 * 1000
local RELAY_LEASE_MAX_MS = 60 * 1000

-- A hold whose request still runs gets its lease from the next checkpoint.
local function shorten_leases(holds, now, holds_max)
  for _, rid in ipairs(redis.call('ZRANGEBYSCORE', holds, text(now + LEASE_MAX_MS + 1), '+inf', 'LIMIT', 0, holds_max)) do
    redis.call('ZADD', holds, text(now + LEASE_ANEW_MS), rid)
  end
end

-- A lease that ends much later than this function gives it, or never, counts as free: it was taken while the clock was ahead, or written by another program.
-- Its shard would not be relayed, and nothing of it booked or compared.
local function is_held(lease, owner, caller)
  if not owner or owner == caller then return false end
  local left = redis.call('PTTL', lease)
  return left >= 0 and left <= RELAY_LEASE_MAX_MS
end

local function relay(KEYS, ARGV)
  local lease_ms, entries_max, bytes_max, holds_max = natural(ARGV[2]), natural(ARGV[3]), natural(ARGV[4]), natural(ARGV[5])
  if not lease_ms or not entries_max or not bytes_max or not holds_max then return invalid('relay') end
  watch_memory(KEYS[4])
  local owner = redis.call('GET', KEYS[1])
  if is_held(KEYS[1], owner, ARGV[1]) then return { 'HELD_ELSEWHERE', math.max(0, redis.call('PTTL', KEYS[1])) } end
  if #ARGV > 7 then redis.call('XDEL', KEYS[2], unpack(ARGV, 8)) end
  if lease_ms == 0 then
    redis.call('DEL', KEYS[1])
    return { 'RELEASED' }
  end
  redis.call('SET', KEYS[1], ARGV[1], 'PX', lease_ms)
  local now = clock(ARGV[7])
  -- A relay sees every jump of the clock that lasts longer than the time between two looks.
  latest_time(KEYS[5], now)
  shorten_leases(KEYS[3], now, holds_max)
  local holds = expired_holds(KEYS[3], ARGV[6], now, holds_max)
  local entries = next_entries(KEYS[2], entries_max, bytes_max)
  -- The events of an outbox were emitted under the epoch that stands beside it: the two are lost together. Without an epoch, they were emitted under one that is gone.
  return { 'LEASED', redis.call('XLEN', KEYS[2]), epoch_of(redis.call('GET', KEYS[4]) or 'none'), holds, entries }
end
