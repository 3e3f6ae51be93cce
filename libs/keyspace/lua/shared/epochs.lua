-- While running requests are given back the holds that Redis lost, this stands before a shard's epoch.
local RESTORING = 'restoring:'

-- 'open' or 'restoring' in this epoch, nil in any other.
local function standing(key, epoch)
  local found = redis.call('GET', key)
  if found == epoch then return 'open' end
  if found == RESTORING .. epoch then return 'restoring' end
  return nil
end

local function epoch_of(found)
  if string.sub(found, 1, #RESTORING) == RESTORING then return string.sub(found, #RESTORING + 1) end
  return found
end
