-- Takes out again what a request released into a withdrawal (seq 2) when the ledger knows it and Redis has lost it. It emits nothing. It is idempotent by rid.
-- Repeat the withdrawal first: a hold that is still open then releases into it by itself when it is settled again.
-- KEYS 1 epoch  2 subscription  3 hold  4 latest time
-- ARGV 1 epoch  2 subscription id  3 withdrawal id  4 tokens  5 when it was released (Unix ms, of its event's id)  6 now (tests only)
-- Returns OK, balance | OPEN | DUPLICATE | TOO_OLD | NOT_FOUND | FENCED
local function repeat_release(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local tokens, released_ms = natural(ARGV[4]), natural(ARGV[5])
  if not tokens or not released_ms then return invalid('repeated release') end
  local sub = redis.call('HMGET', KEYS[2], 'id', 'bal')
  if sub[1] ~= ARGV[2] then return { 'NOT_FOUND' } end
  local hold = read_hold(KEYS[3])
  if hold and hold.c2 then return { 'DUPLICATE' } end
  if hold and hold.st == 'open' then return { 'OPEN' } end
  local now = clock(ARGV[6])
  local latest = latest_time(KEYS[4], now)
  -- Without a hold, its marker may simply have expired, also while the clock was ahead. A minute is left for clocks that differ.
  if not hold and latest - released_ms >= DONE_TTL_MS - 60000 then return { 'TOO_OLD' } end
  local balance = tonumber(sub[2] or '0') - tokens
  move_ceiling(KEYS[1], KEYS[2], balance + tokens, -tokens)
  redis.call('HSET', KEYS[2], 'bal', text(balance))
  if hold then
    hold.c2, hold.wd, hold.sub = tokens, ARGV[3], ARGV[2]
    write_ended_hold(KEYS[3], hold, DONE_TTL_MS, now, latest)
    return { 'OK', text(balance) }
  end
  -- The hold itself may be lost too: what settles the request again finds this mark and adds its own. No hold is taken on a mark (admit, restore).
  -- The shard may have lost that it has seen the time of its event: the mark must outlast what the ledger would repeat.
  local mark = { st = 'released', c2 = tokens, wd = ARGV[3], sub = ARGV[2] }
  write_ended_hold(KEYS[3], mark, DONE_TTL_MS, now, math.max(latest, released_ms))
  return { 'OK', text(balance) }
end
