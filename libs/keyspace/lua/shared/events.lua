-- Events leave in the call that changed the balance, so no crash can come between (docs/design/metering.md#events).

-- Returns the latest time that the shard has seen; `found` is given where `key` was read before. Redis' own clock may be set back: what expired while it was ahead is gone, and what
-- is kept from a moment when it was behind would expire at once when it is right again. It is written about once a second. What is no time was written by another
-- than these functions: it counts as none, and is written over.
local function latest_time(key, now, found)
  if found == nil then found = redis.call('MGET', key)[1] end
  local seen = natural(found) or 0
  if now > seen + 1000 then redis.call('SET', key, text(now)) end
  return math.max(now, seen)
end

local function emit(outbox, rid, seq, delta, payload)
  redis.call('XADD', outbox, '*', 'rid', rid, 'seq', seq, 'delta', delta, 'payload', payload)
end

-- Writes `usageReapSchema` of contracts, from the hold's own record, with the MAC of its node over what is charged.
local function reap_payload(hold)
  local mac = hold.mac and hold.mac ~= '' and ',"mac":' .. cjson.encode(hold.mac) or ''
  local budgets = hold.bud and ',"budgets":' .. cjson.encode(hold.bud) or ''
  return '{"kind":"reap","account_id":' .. hold.acct .. ',"key_id":' .. hold.key .. ',"subscription_id":' .. hold.sub
    .. ',"model_id":' .. hold.model .. ',"price_version_id":' .. hold.price .. ',"node":' .. cjson.encode(hold.node) .. budgets .. mac .. '}'
end

-- Returns whether the reaper charged this request. A first charge that was not corrected is the reaper's only while the hold is reaped.
-- A value that another program wrote is no reap.
local function is_reaped(hold)
  if not hold or not is_amount(hold.c0) or not hold.node or (hold.st ~= 'reaped' and not hold.c1) then return false end
  for _, id in ipairs({ 'acct', 'key', 'sub', 'model', 'price' }) do
    if not natural(hold[id]) then return false end
  end
  return true
end

-- Writes `withdrawalSchema` of contracts.
local function withdraw_payload(account, subscription, model, withdrawal)
  return '{"kind":"withdraw","account_id":' .. account .. ',"subscription_id":' .. subscription
    .. ',"model_id":' .. model .. ',"withdrawal_id":"' .. withdrawal .. '"}'
end

-- Returns how many of the `released` tokens leave the subscription at once: those of a hold that the subscription's withdrawal could not take,
-- because it is closing, or was closed and opened again since. Never more than no other hold has a claim to.
local function leaving(released, generation, sub)
  local is_leaving = sub.wd and (sub.st ~= 'active' or tonumber(generation) < tonumber(sub.gen))
  if not is_leaving then return 0 end
  return math.max(0, math.min(released, free_of(sub.bal, sub.held)))
end

-- Reads the subscription's balance as numbers. A record that is missing counts as empty: what is settled against it must still be remembered.
local function read_balance(key)
  local values = redis.call('HMGET', key, 'st', 'bal', 'held', 'conc', 'gen', 'id', 'wd')
  return {
    st = values[1], bal = tonumber(values[2] or '0'), held = tonumber(values[3] or '0'), conc = tonumber(values[4] or '0'),
    gen = values[5] or '0', id = values[6], wd = values[7],
  }
end

local function write_balance(key, sub)
  redis.call('HSET', key, 'bal', text(sub.bal), 'held', text(sub.held), 'conc', text(sub.conc))
end
