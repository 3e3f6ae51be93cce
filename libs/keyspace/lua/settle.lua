-- Ends a request: releases its hold, debits its charge, emits the event. Idempotent by rid.
-- KEYS 1 epoch  2 subscription  3 hold  4 holds  5 outbox  6 latest time
-- ARGV 1 epoch  2 rid  3 account id  4 model id  5 charge  6 payload  7 emit again when done (1 or 0)  8 now (tests only)
-- Returns OK, balance, open|reaped|none | DUPLICATE | FENCED, epoch|age
local function emit_again(outbox, rid, key, hold, payload)
  local deltas = redis.call('HMGET', key, 'c0', 'c1', 'c2', 'wd')
  -- A charge that was corrected came from the reaper, and travels with the reaper's payload.
  emit(outbox, rid, '0', deltas[1], deltas[2] and reap_payload(key) or payload)
  if deltas[2] then emit(outbox, rid, '1', deltas[2], payload) end
  if deltas[3] then emit(outbox, rid, '2', deltas[3], withdraw_payload(hold.acct, hold.sub, hold.model, deltas[4])) end
end

-- Without a hold, the marker of a settlement may simply have expired. The rid says how old the request is (UUIDv7);
-- a minute is left for clocks that differ. Such a final goes to PostgreSQL first, whose key (rid, seq) knows permanently.
local function may_have_been_settled(rid, now)
  local started = tonumber(string.sub(rid, 1, 8) .. string.sub(rid, 10, 13), 16)
  return now - started >= DONE_TTL_MS - 60000
end

local function settle(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED', 'epoch' } end
  local rid, charge = ARGV[2], natural(ARGV[5])
  if not charge then return invalid('settle') end
  local hold = read_hold(KEYS[3])
  if hold and (hold.acct ~= ARGV[3] or hold.model ~= ARGV[4]) then return invalid('settle: the hold belongs to another subscription') end
  local now = clock(ARGV[8])
  local latest = latest_time(KEYS[6], now)
  if hold and hold.st == 'done' then
    if ARGV[7] == '1' then
      emit_again(KEYS[5], rid, KEYS[3], hold, ARGV[6])
      -- A node that still asks must not find it forgotten the next time.
      expire_after(KEYS[3], DONE_TTL_MS, now, latest)
    end
    return { 'DUPLICATE' }
  end
  if not hold and may_have_been_settled(rid, latest) then return { 'FENCED', 'age' } end

  local sub = read_balance(KEYS[2])
  local seq, delta, released = '0', charge, 0
  if hold and hold.st == 'open' then
    sub.held = sub.held - hold.amt
    sub.conc = sub.conc - 1
    released = hold.amt - charge
  elseif hold then
    seq, delta = '1', charge - hold.chg
    -- What the reaper charged too much. It cannot be withdrawn twice under one (rid, seq).
    released = hold.is_withdrawn and 0 or -delta
  end
  sub.bal = sub.bal - delta
  local withdrawn = hold and leaving(released, hold.gen, sub) or 0
  sub.bal = sub.bal - withdrawn

  write_balance(KEYS[2], sub)
  -- Only what was reaped leaves again with a MAC; markers of all others are many.
  local mac = hold and hold.st == 'reaped' and hold.mac or ''
  redis.call('HSET', KEYS[3], 'st', 'done', 'chg', text(charge), 'c' .. seq, text(delta), 'acct', ARGV[3], 'model', ARGV[4], 'mac', mac)
  expire_after(KEYS[3], DONE_TTL_MS, now, latest)
  if hold and hold.st == 'open' then redis.call('ZREM', KEYS[4], rid) end
  emit(KEYS[5], rid, seq, text(delta), ARGV[6])
  if withdrawn > 0 then
    redis.call('HSET', KEYS[3], 'c2', text(withdrawn), 'wd', sub.wd)
    emit(KEYS[5], rid, '2', text(withdrawn), withdraw_payload(ARGV[3], hold.sub, ARGV[4], sub.wd))
  end
  return { 'OK', text(sub.bal), hold and hold.st or 'none' }
end
