-- Ends a hold whose lease ran out: its node is gone. Charges the last checkpoint, releases the rest; a final that still comes is a correction.
-- Its rid stays in `reaped` until the charge is booked: no node emits it again.
-- KEYS 1 epoch  2 subscription  3 hold  4 holds  5 outbox  6 latest time  7 reaped  8 budgets of the account
-- ARGV 1 epoch  2 rid  3 account id  4 model id  5 now (tests only)
-- Returns OK, charged | ALIVE | NOT_OPEN | FENCED
local function reap(KEYS, ARGV)
  local found = redis.call('MGET', KEYS[1], KEYS[3], KEYS[6])
  if not standing_of(found[1], ARGV[1]) then return { 'FENCED' } end
  local rid, hold = ARGV[2], unpack_hold(found[2])
  if hold and is_of_other(hold, ARGV[3], ARGV[4]) then return invalid('reap: the hold belongs to another subscription') end
  if not hold or hold.st ~= 'open' then
    redis.call('ZREM', KEYS[4], rid)
    return { 'NOT_OPEN' }
  end
  local deadline = redis.call('ZSCORE', KEYS[4], rid)
  local now = clock(ARGV[5])
  if deadline and tonumber(deadline) > now then return { 'ALIVE' } end

  local sub, charge = read_balance(KEYS[2]), hold.used
  local before = sub.bal
  sub.held = sub.held - hold.amt
  sub.conc = sub.conc - 1
  sub.bal = sub.bal - charge
  local withdrawn = leaving(hold.amt - charge, hold.gen, sub)
  sub.bal = sub.bal - withdrawn
  move_ceiling(KEYS[1], KEYS[2], before, sub.bal - before)
  memory_of(KEYS[1]).reaped[rid] = charge

  write_balance(KEYS[2], sub)
  if hold.bud then move_claims(KEYS[8], claims_in(hold.bud), { used = charge, unheld = hold.amt, now = now }) end
  hold.st, hold.chg, hold.c0 = 'reaped', charge, charge
  if withdrawn > 0 then hold.c2, hold.wd = withdrawn, sub.wd end
  -- Its counts in rates stay, until a final corrects them.
  if hold.lim then pcall(leave_running, hold.lim, rid) end
  write_ended_hold(KEYS[3], hold, REAPED_TTL_MS, now, latest_time(KEYS[6], now, found[3]))
  redis.call('ZREM', KEYS[4], rid)
  redis.call('ZADD', KEYS[7], text(now), rid)
  redis.call('PEXPIRE', KEYS[7], REAPED_TTL_MS)
  emit(KEYS[5], rid, '0', text(charge), reap_payload(hold))
  if withdrawn > 0 then emit(KEYS[5], rid, '2', text(withdrawn), withdraw_payload(hold.acct, hold.sub, hold.model, sub.wd)) end
  return { 'OK', text(charge) }
end
