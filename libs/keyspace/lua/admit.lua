-- Decides whether a request may run and takes its hold. A refusal changes nothing.
-- KEYS 1 epoch  2 key  3 account  4 subscription  5 hold  6 holds  7 windows of the key  8 budgets of the account  9 windows of the account
--      10 requests of the key that run
-- ARGV 1 epoch  2 rid  3 account id  4 model id  5 model name  6 price version id  7 want tokens  8 min tokens
--      9 address (32 hex or '')  10 concurrency max (0 = none)  11 lease ms  12 node  13 now (tests only)
--      14 '1' = no rate of requests counts it: the request was counted when another model was to answer it
--      15 '1' = less than want would shorten the output: not while a purchase is due that brings all of it
--      16 '1' = takes at most half of what is free; where min is more than that, min and half of the rest
--      17 MAC of the node over what this hold has used: nothing ('' = none)
--      18 by what limits and budgets judge it: asked_of of limits.lua
-- Returns OK, granted, available, key id, subscription id, generation, expiry of the key (ms or 0), claims on budgets,
--        tokens of an answer (0 = no limit), (rate, limit, remaining, reset ms)...
--      or DUPLICATE, state, granted, key id, subscription id, generation, claims on budgets (0 and '' for a request that has ended)
--      or RATE_LIMITED, rate, retry ms, (rate, limit, remaining, reset ms)...
--      or INPUT_TOO_LONG, limit | PROMPT_TOO_LONG, rate, limit: by what the prompt is at most
--      or CONCURRENCY_EXCEEDED (, limit: of the key) | BALANCE_TOO_LOW, balance, subscription id, due | TOKENS_HELD, balance, held, due
--      or BUDGET_EXCEEDED, tokens that are left, budget id, unit, limit, used, held, end of its period (s, 0 = none), kind of its values,
--        '1' where another model may answer
--      or VALUE_REQUIRED, budget id, kind: the budget counts values, and the request names none
--      or RECHARGE_DUE: a purchase that is due makes the request fit
--      (due: tokens that auto-recharge is due to buy, 0 when none)
--      or FENCED | NOT_SUBSCRIBED | SUBSCRIPTION_CLOSING | MODEL_NOT_ALLOWED | a refusal of caller.lua
local function admit(KEYS, ARGV)
  -- Nothing is admitted while holds are restored: what they held would look free.
  local found = redis.call('MGET', KEYS[1], KEYS[5])
  if standing_of(found[1], ARGV[1]) ~= 'open' then return { 'FENCED' } end
  local want, min, concurrency_max, lease_ms = natural(ARGV[7]), natural(ARGV[8]), natural(ARGV[10]), natural(ARGV[11])
  if not want or not min or min > want or not concurrency_max or not lease_ms then return invalid('admit') end
  local known = unpack_hold(found[2])
  if known then
    if known.st == 'open' then return { 'DUPLICATE', 'open', text(known.amt), known.key, known.sub, known.gen, known.bud or '' } end
    return { 'DUPLICATE', known.st == 'reaped' and 'reaped' or 'done', '0', '0', '0', '0', '' }
  end

  local now = clock(ARGV[13])
  local key = redis.call('HMGET', KEYS[2], 'st', 'acct', 'exp', 'ips', 'id', 'models', 'lim', 'bud')
  local account = redis.call('HMGET', KEYS[3], 'st', 'bud', 'lim')
  local refused = caller_refused(key, ARGV[3], ARGV[9], account[1], now)
  if refused then return refused end
  if not model_allowed(key[6], ARGV[5]) then return { 'MODEL_NOT_ALLOWED' } end

  local sub = redis.call('HMGET', KEYS[4], 'st', 'bal', 'held', 'conc', 'gen', 'id', 'rthr', 'ramt')
  if sub[1] == 'closing' then return { 'SUBSCRIPTION_CLOSING' } end
  if sub[1] ~= 'active' then return { 'NOT_SUBSCRIBED' } end
  local balance, held, running = learn_spendable(KEYS[1], KEYS[4], tonumber(sub[2])), tonumber(sub[3]), tonumber(sub[4])
  if concurrency_max > 0 and running >= concurrency_max then return { 'CONCURRENCY_EXCEEDED' } end

  local own, shared, has_claims = limits_of(key[7]), limits_of(account[3]), has_budgets(key[8]) or has_budgets(account[2])
  local asked, windows, claims, within
  if own or shared or has_claims then
    asked = asked_of(KEYS, ARGV, now)
    if not asked then return invalid('admit') end
    refused, windows = judge_limits(own, shared, asked)
    if refused then return refused end
  end
  if has_claims then
    claims, refused = claims_of(asked.budgets, { key[8], account[2] }, asked)
    if not claims then return refused end
    within, refused = judge_claims(asked.budgets, claims, min)
    if refused then return refused end
  end

  local available = free_of(balance, held)
  local grant = math.min(want, available)
  if grant < min or (grant < want and ARGV[15] == '1') then
    local bought = purchase_due(sub[7], sub[8], available, balance, min)
    if bought > 0 and available + bought >= (grant < min and min or want) then
      return { 'RECHARGE_DUE' }
    end
    if balance + bought < min then return { 'BALANCE_TOO_LOW', text(balance), sub[6], text(bought) } end
    if grant < min then return { 'TOKENS_HELD', text(balance), text(held), text(bought) } end
  end
  if within then
    available = math.min(available, within)
    grant = math.min(grant, available)
  end
  if ARGV[16] == '1' then
    local half = math.floor(available / 2)
    grant = math.min(want, min <= half and half or min + math.floor((available - min) / 2))
  end

  local granted = text(grant)
  local lim = windows and take_limits(own, windows, asked, ARGV[2], lease_ms)
  redis.call('HSET', KEYS[4], 'held', text(held + grant), 'conc', text(running + 1))
  local budgets = claims and hold_claims(asked.budgets, claims, grant, now)
  write_open_hold(KEYS[5], {
    st = 'open', acct = ARGV[3], model = ARGV[4], amt = grant, used = 0, gen = sub[5], sub = sub[6], key = key[5],
    price = ARGV[6], node = ARGV[12], mac = ARGV[17] or '', bud = budgets, lim = lim,
  })
  redis.call('ZADD', KEYS[6], text(now + lease_ms), ARGV[2])
  if not windows then return { 'OK', granted, text(available - grant), key[5], sub[6], sub[5], key[3], budgets or '', '0' } end
  return { 'OK', granted, text(available - grant), key[5], sub[6], sub[5], key[3], budgets or '', text(own and own.o or 0),
    unpack(report_of(windows, now)) }
end
