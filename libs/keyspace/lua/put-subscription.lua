-- Replaces what the control plane decides about a subscription, unless a newer record is there. The balance (bal, held, conc, cseq) is made when
-- absent and never touched otherwise. Within one generation a status only moves on (active, closing, closed): a late write cannot undo a withdrawal.
-- KEYS 1 epoch  2 subscription  3 subscribed models
-- ARGV 1 epoch  2 model id  3 subscription id  4 status  5 generation  6 drain (1 or 0)  7 rev  8 withdrawal id or ''
--      9 opening balance  10 opening credit seq (both 0 but when a lost shard is rebuilt)
--      11 threshold and 12 amount of auto-recharge (amount 0 = not armed)  13 replaces (1 or 0): what is there was altered
-- Returns OK, seq | STALE, seq | FENCED; seq is the last credit applied
local STATUS_RANK = { active = 1, closing = 2, closed = 3 }

-- No call of another function comes between the removal and the new record. The holds of running requests stay counted.
local function remove_altered(key)
  local kept = redis.pcall('HMGET', key, 'held', 'conc')
  redis.call('DEL', key)
  local held, running = natural(kept[1]), natural(kept[2])
  if held and running then redis.call('HSET', key, 'held', text(held), 'conc', text(running)) end
end

local function put_subscription(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local status, drain, generation, rev = ARGV[4], ARGV[6], natural(ARGV[5]), natural(ARGV[7])
  local balance, credit_seq = integer(ARGV[9]), natural(ARGV[10])
  local threshold, amount = natural(ARGV[11]), natural(ARGV[12])
  if not STATUS_RANK[status] or not generation or generation < 1 or not rev or not balance or not credit_seq or not threshold or not amount then
    return invalid('subscription record')
  end
  if ARGV[13] == '1' then remove_altered(KEYS[2]) end
  local sub = redis.call('HMGET', KEYS[2], 'st', 'gen', 'rev', 'drain', 'bal', 'cseq', 'wd')
  -- A value that is no number or status was not written by these functions, and is overwritten.
  local known_generation, applied = natural(sub[2]) or 0, text(natural(sub[6]) or credit_seq)
  if generation < known_generation or (natural(sub[3]) or 0) > rev then return { 'STALE', applied } end
  if generation == known_generation and STATUS_RANK[status] < (STATUS_RANK[sub[1]] or 0) then status, drain = sub[1], sub[4] end

  redis.call('HSET', KEYS[2], 'id', ARGV[3], 'st', status, 'gen', text(generation), 'drain', drain, 'rev', text(rev))
  if amount > 0 then
    redis.call('HSET', KEYS[2], 'rthr', text(threshold), 'ramt', text(amount))
  else
    redis.call('HDEL', KEYS[2], 'rthr', 'ramt')
  end
  -- The last withdrawal is remembered after reopening: holds from before it still release into it.
  -- A balance that is there and knows of none has lost it, with the end of what Redis wrote: repeat_withdrawal takes the tokens and notes it.
  if ARGV[8] ~= '' and not sub[7] and not sub[6] then redis.call('HSET', KEYS[2], 'wd', ARGV[8]) end
  if not sub[6] then
    local opening = tonumber(sub[5] or '0') + balance
    redis.call('HSET', KEYS[2], 'bal', text(opening), 'cseq', text(credit_seq))
    -- Credits that are sent again to a record that was removed were counted before. What the ledger opens with is right by itself.
    if credit_seq > 0 or ARGV[13] == '1' or not memory_of(KEYS[1]).tops[KEYS[2]] then set_ceiling(KEYS[1], KEYS[2], opening, credit_seq) end
  end
  redis.call('HSETNX', KEYS[2], 'held', '0')
  redis.call('HSETNX', KEYS[2], 'conc', '0')
  redis.call(status == 'active' and 'SADD' or 'SREM', KEYS[3], ARGV[2])
  return { 'OK', applied }
end
