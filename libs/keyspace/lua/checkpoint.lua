-- Notes what a running stream has used so far, renews its lease, and extends its hold by what fits.
-- KEYS 1 epoch  2 key  3 account  4 subscription  5 hold  6 holds  7 budgets of the account
-- ARGV 1 epoch  2 rid  3 account id  4 model id  5 used tokens  6 extend tokens  7 lease ms  8 now (tests only)
--      9 MAC of the node over the used tokens ('' = none)  10 node  11 tokens of the output so far, as rates count them
-- Returns OK, held by this hold, extended, 1 when more comes soon: a purchase is due, or holds are being restored (else 0) | STOP, held by this hold | GONE, reaped|done|none | FENCED
local function checkpoint(KEYS, ARGV)
  local found = redis.call('MGET', KEYS[1], KEYS[5])
  local shard = standing_of(found[1], ARGV[1])
  if not shard then return { 'FENCED' } end
  local used, extend, lease_ms, output = natural(ARGV[5]), natural(ARGV[6]), natural(ARGV[7]), natural(ARGV[11])
  if not used or not extend or not lease_ms or not output then return invalid('checkpoint') end
  local hold = unpack_hold(found[2])
  if not hold or hold.st == 'released' then return { 'GONE', 'none' } end
  if hold.st ~= 'open' then return { 'GONE', hold.st } end
  if is_of_other(hold, ARGV[3], ARGV[4]) then return invalid('checkpoint: the hold belongs to another subscription') end

  local sub = redis.call('HMGET', KEYS[4], 'st', 'drain', 'gen', 'bal', 'held', 'rthr', 'ramt')
  local key, account = redis.call('HMGET', KEYS[2], 'st', 'drain', 'bud'), redis.call('HMGET', KEYS[3], 'st', 'drain', 'bud')
  local may_run = lets_run(key, 'enabled') and lets_run(account, 'active') and lets_run(sub, 'active')
  local amount, extended, is_due = hold.amt, 0, 0
  -- A hold taken before the subscription was last opened ends with what it has: the tokens here now are others.
  if shard == 'restoring' then
    is_due = extend > 0 and 1 or 0
  elseif may_run and hold.gen == sub[3] then
    local balance, held = spendable(KEYS[1], KEYS[4], tonumber(sub[4])), tonumber(sub[5])
    extended = math.max(0, math.min(extend, free_of(balance, held)))
    if extended < extend and purchase_due(sub[6], sub[7], free_of(balance, held) - extended, balance, 0) > 0 then is_due = 1 end
  end

  local now = clock(ARGV[8])
  if extended > 0 and hold.bud then
    extended = grow_claims(KEYS[7], claims_in(hold.bud), { amount = amount, wanted = extended, lists = { key[3], account[3] }, now = now })
  end
  if extended > 0 then redis.call('HSET', KEYS[4], 'held', text(tonumber(sub[5]) + extended)) end
  hold.amt = amount + extended
  note_used(hold, used, ARGV[9], ARGV[10])
  if hold.lim then pcall(renew_limits, hold.lim, output, ARGV[2], now, lease_ms) end
  write_open_hold(KEYS[5], hold)
  redis.call('ZADD', KEYS[6], 'XX', text(now + lease_ms), ARGV[2])
  if not may_run then return { 'STOP', text(amount) } end
  return { 'OK', text(amount + extended), text(extended), text(is_due) }
end
