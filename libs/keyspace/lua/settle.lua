-- Ends a request: releases its hold, debits its charge, emits the event. It is idempotent by rid.
-- KEYS 1 epoch  2 subscription  3 hold  4 holds  5 outbox  6 latest time  7 budgets of the account
-- ARGV 1 epoch  2 rid  3 account id  4 model id  5 charge  6 payload  7 emit again when done (1 or 0)  8 now (tests only)
--      9 claims on budgets, for a request without a hold ('' = none)
--      10 tokens as rates count them  11 the same without those that were read from a cache
-- Returns OK, balance, open|reaped|none | DUPLICATE | FENCED, epoch|age
local function emit_again(outbox, rid, hold, payload)
  -- A charge that was corrected came from the reaper, and travels with the reaper's payload.
  emit(outbox, rid, '0', text(hold.c0), hold.c1 and reap_payload(hold) or payload)
  if hold.c1 then emit(outbox, rid, '1', text(hold.c1), payload) end
  if hold.c2 then emit(outbox, rid, '2', text(hold.c2), withdraw_payload(hold.acct, hold.sub, hold.model, hold.wd)) end
end

-- Without a hold, the marker of a settlement may simply have expired. The rid says how old the request is (UUIDv7);
-- a minute is left for clocks that differ. Such a final goes to PostgreSQL first, whose key (rid, seq) knows permanently.
local function may_have_been_settled(rid, now)
  local started = tonumber(string.sub(rid, 1, 8) .. string.sub(rid, 10, 13), 16)
  return now - started >= DONE_TTL_MS - 60000
end

-- The refund of a correction raises the ceiling if this server saw the charge of the reap: another program can write a hold.
local function saw_reap(epoch, rid, charge)
  local reaped = memory_of(epoch).reaped
  local charged = reaped[rid]
  reaped[rid] = nil
  return charged == charge
end

local function settle(KEYS, ARGV)
  local found = redis.call('MGET', KEYS[1], KEYS[3], KEYS[6])
  if not standing_of(found[1], ARGV[1]) then return { 'FENCED', 'epoch' } end
  local rid, charge, hold = ARGV[2], natural(ARGV[5]), unpack_hold(found[2])
  local reported, uncached = natural(ARGV[10]), natural(ARGV[11])
  if not charge or not reported or not uncached then return invalid('settle') end
  local noted = hold and hold.st == 'released' and hold
  if noted then hold = nil end
  if hold and is_of_other(hold, ARGV[3], ARGV[4]) then return invalid('settle: the hold belongs to another subscription') end
  local now = clock(ARGV[8])
  local latest = latest_time(KEYS[6], now, found[3])
  if hold and hold.st == 'done' then
    if ARGV[7] == '1' then
      emit_again(KEYS[5], rid, hold, ARGV[6])
      -- A node that still asks must not find it forgotten the next time.
      write_ended_hold(KEYS[3], hold, DONE_TTL_MS, now, latest)
    end
    return { 'DUPLICATE' }
  end
  if not hold and may_have_been_settled(rid, latest) then return { 'FENCED', 'age' } end

  local sub, from = read_balance(KEYS[2]), hold and hold.st or 'none'
  local before = sub.bal
  local seq, delta, released = '0', charge, 0
  if from == 'open' then
    sub.held = sub.held - hold.amt
    sub.conc = sub.conc - 1
    released = hold.amt - charge
  elseif from == 'reaped' then
    seq, delta = '1', charge - hold.chg
    -- This is the excess of the reaper's charge. It cannot be withdrawn twice under one (rid, seq).
    released = hold.c2 and 0 or -delta
  end
  sub.bal = sub.bal - delta
  local withdrawn = hold and leaving(released, hold.gen, sub) or 0
  sub.bal = sub.bal - withdrawn
  local is_known = from ~= 'reaped' or saw_reap(KEYS[1], rid, hold.c0)
  local by = sub.bal - before
  move_ceiling(KEYS[1], KEYS[2], before, is_known and by or math.min(by, 0))

  write_balance(KEYS[2], sub)
  local claims = ARGV[9]
  if hold then claims = hold.bud end
  if claims and claims ~= '' then
    move_claims(KEYS[7], claims_in(claims), {
      used = charge, reported = reported, unused = from == 'reaped' and hold.chg or nil, unheld = from == 'open' and hold.amt or nil, now = now,
    })
  end
  if hold and hold.lim then
    -- A value that another program wrote there must not keep a charge from being settled.
    pcall(settle_limits, hold.lim, reported, uncached, rid, now)
    hold.lim = nil
  end
  hold = hold or { acct = ARGV[3], model = ARGV[4], c2 = noted and noted.c2, wd = noted and noted.wd, sub = noted and noted.sub }
  hold.st, hold.chg, hold['c' .. seq] = 'done', charge, delta
  if withdrawn > 0 then hold.c2, hold.wd = withdrawn, sub.wd end
  write_ended_hold(KEYS[3], hold, DONE_TTL_MS, now, latest)
  if from == 'open' then redis.call('ZREM', KEYS[4], rid) end
  emit(KEYS[5], rid, seq, text(delta), ARGV[6])
  if withdrawn > 0 then emit(KEYS[5], rid, '2', text(withdrawn), withdraw_payload(ARGV[3], hold.sub, ARGV[4], sub.wd)) end
  return { 'OK', text(sub.bal), from }
end
