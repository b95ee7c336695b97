/**
 * Looks at all limits of one attempt, and counts it against each only if none refuses it, in one call. Returns a list: the index of the first
 * limit that refuses it, or -1, and for each limit 1 if it was counted. It counts in the keys of @upstash/ratelimit and by its rules; the
 * library counts one limit a call.
 *
 * KEYS: the current and the previous window of each limit. ARGV: the time, then for each limit how many attempts it allows,
 * its window, 1 if it refuses, and 1 if it counts now. Times are in milliseconds. With the flag, Upstash locks these keys alone.
 */
export const SLIDING_WINDOWS = `#!lua flags=allow-key-locking
local now = tonumber(ARGV[1])
local outcome = {-1}
for i = 1, #KEYS / 2 do
  local most = tonumber(ARGV[4 * i - 2])
  local window = tonumber(ARGV[4 * i - 1])
  local used = tonumber(redis.call("GET", KEYS[2 * i - 1]) or 0)
  local before = tonumber(redis.call("GET", KEYS[2 * i]) or 0)
  local carried = math.floor((1 - (now % window) / window) * before)
  local is_full = used + carried >= most
  if is_full and ARGV[4 * i] == "1" and outcome[1] == -1 then
    outcome[1] = i - 1
  end
  outcome[i + 1] = (is_full or ARGV[4 * i + 1] ~= "1") and 0 or 1
end
for i = 1, #KEYS / 2 do
  if outcome[1] ~= -1 then
    outcome[i + 1] = 0
  elseif outcome[i + 1] == 1 and redis.call("INCRBY", KEYS[2 * i - 1], 1) == 1 then
    redis.call("PEXPIRE", KEYS[2 * i - 1], tonumber(ARGV[4 * i - 1]) * 2 + 1000)
  end
end
return outcome
`

/** Gives back one attempt in each of KEYS. A window that has expired, or was deleted, stays away. */
export const GIVE_BACK = `#!lua flags=allow-key-locking
for _, key in ipairs(KEYS) do
  if tonumber(redis.call("GET", key) or 0) > 0 then
    redis.call("DECR", key)
  end
end
return 1
`
