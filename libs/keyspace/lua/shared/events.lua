-- Events leave in the call that changed the balance, so no crash can come between (docs/design/metering.md#events).
local DONE_TTL_MS = 15 * 60 * 1000
local REAPED_TTL_MS = 24 * 60 * 60 * 1000

-- The latest time that the shard has seen. Redis' own clock may be set back: what expired while it was ahead is gone, and what is kept from a
-- moment when it was behind would expire at once when it is right again. Written about once a second. What is no time was written by another than these
-- functions: it counts as none, and is written over.
local function latest_time(key, now)
  local seen = natural(redis.call('GET', key)) or 0
  if now > seen + 1000 then redis.call('SET', key, text(now)) end
  return math.max(now, seen)
end

-- Keeps a record for `ttl_ms` of the time that the shard has seen, by a clock that may be behind it.
local function expire_after(key, ttl_ms, now, latest)
  redis.call('PEXPIRE', key, text(ttl_ms + latest - now))
end

local function emit(outbox, rid, seq, delta, payload)
  redis.call('XADD', outbox, '*', 'rid', rid, 'seq', seq, 'delta', delta, 'payload', payload)
end

-- `usageReapSchema` of contracts, from the hold's own record, with the MAC of its node over what is charged.
local function reap_payload(key)
  local hold = redis.call('HMGET', key, 'acct', 'key', 'sub', 'model', 'price', 'node', 'mac')
  local mac = hold[7] and hold[7] ~= '' and ',"mac":' .. cjson.encode(hold[7]) or ''
  return '{"kind":"reap","account_id":' .. hold[1] .. ',"key_id":' .. hold[2] .. ',"subscription_id":' .. hold[3]
    .. ',"model_id":' .. hold[4] .. ',"price_version_id":' .. hold[5] .. ',"node":' .. cjson.encode(hold[6]) .. mac .. '}'
end

-- What the reaper charged this request, or nil when it did not. What another program wrote under this name is no reap. A first charge that was not
-- corrected is the reaper's only while the hold is reaped.
local function reaped_charge(key)
  local hold = redis.pcall('HMGET', key, 'c0', 'acct', 'key', 'sub', 'model', 'price', 'node', 'st', 'c1')
  if hold.err or not hold[7] or (hold[8] ~= 'reaped' and not hold[9]) then return nil end
  for i = 1, 6 do
    if not natural(hold[i]) then return nil end
  end
  return hold[1]
end

-- `withdrawalSchema` of contracts.
local function withdraw_payload(account, subscription, model, withdrawal)
  return '{"kind":"withdraw","account_id":' .. account .. ',"subscription_id":' .. subscription
    .. ',"model_id":' .. model .. ',"withdrawal_id":"' .. withdrawal .. '"}'
end

-- How many of `released` tokens leave the subscription at once: those of a hold that the subscription's withdrawal could not take,
-- because it is closing, or was closed and opened again since. Never more than no other hold has a claim to.
local function leaving(released, generation, sub)
  local is_leaving = sub.wd and (sub.st ~= 'active' or tonumber(generation) < tonumber(sub.gen))
  if not is_leaving then return 0 end
  return math.max(0, math.min(released, free_of(sub.bal, sub.held)))
end

-- What ending a hold needs to know of it, or nil.
local function read_hold(key)
  local values = redis.call('HMGET', key, 'st', 'amt', 'used', 'gen', 'acct', 'model', 'sub', 'chg', 'c2', 'mac')
  if not values[1] then return nil end
  return {
    st = values[1], amt = tonumber(values[2] or '0'), used = values[3], gen = values[4],
    acct = values[5], model = values[6], sub = values[7], chg = tonumber(values[8] or '0'), is_withdrawn = values[9], mac = values[10],
  }
end

-- What a hold has used, with the node that signed it: a journal that moved is another node's. Never less than was counted.
local function note_used(key, counted, by)
  if by.used < counted then return end
  redis.call('HSET', key, 'used', text(by.used), 'mac', by.mac or '', 'node', by.node)
end

-- The subscription's balance as numbers. A record that is missing counts as empty: what is settled against it must still be remembered.
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
