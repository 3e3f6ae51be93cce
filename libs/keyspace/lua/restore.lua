-- Gives a running request the hold back that Redis lost, in a rebuilt shard or with the end of its file: what is there of it. Idempotent by rid;
-- a hold that was not lost is renewed as by a checkpoint.
-- Only for a request that cannot have been settled or reaped before the loss; its node knows (docs/internals.md, Usage on its way).
-- KEYS 1 epoch  2 subscription  3 hold  4 holds  5 budgets of the account
-- ARGV 1 epoch  2 rid  3 account id  4 model id  5 subscription id  6 key id  7 price version id  8 generation  9 node
--      10 want tokens  11 used tokens  12 lease ms  13 now (tests only)
--      14 MAC of the node over the used tokens ('' = none)  15 claims on budgets ('' = none)
-- Returns OK, held by this hold | GONE, reaped|done|none (none: no such subscription) | FENCED
local function restore(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local want, used, lease_ms = natural(ARGV[10]), natural(ARGV[11]), natural(ARGV[12])
  if not want or not used or not lease_ms then return invalid('restore') end
  local hold = read_hold(KEYS[3])
  -- Its release is booked (repeat_release): it has ended, and a second release under the same (rid, seq) would not be booked.
  if hold and hold.st == 'released' then return { 'GONE', 'done' } end
  if hold and is_of_other(hold, ARGV[3], ARGV[4]) then return invalid('restore: the hold belongs to another subscription') end
  local now = clock(ARGV[13])
  local deadline = text(now + lease_ms)
  if hold and hold.st == 'open' then
    -- The node counts on a lease that begins now, as after a checkpoint.
    note_used(hold, used, ARGV[14], ARGV[9])
    write_open_hold(KEYS[3], hold)
    redis.call('ZADD', KEYS[4], deadline, ARGV[2])
    return { 'OK', text(hold.amt) }
  end
  if hold then return { 'GONE', hold.st } end
  local sub = read_balance(KEYS[2])
  if sub.id ~= ARGV[5] then return { 'GONE', 'none' } end

  local amount = math.max(0, math.min(want, free_of(spendable(KEYS[1], KEYS[2], sub.bal), sub.held)))
  sub.held = sub.held + amount
  sub.conc = sub.conc + 1
  write_balance(KEYS[2], sub)
  local budgets = ARGV[15] ~= '' and ARGV[15] or nil
  if budgets then move_claims(KEYS[5], claims_in(budgets), { held = amount, now = now }) end
  write_open_hold(KEYS[3], {
    st = 'open', acct = ARGV[3], model = ARGV[4], amt = amount, used = used, gen = ARGV[8], sub = ARGV[5], key = ARGV[6],
    price = ARGV[7], node = ARGV[9], mac = ARGV[14] or '', bud = budgets,
  })
  redis.call('ZADD', KEYS[4], deadline, ARGV[2])
  return { 'OK', text(amount) }
end
