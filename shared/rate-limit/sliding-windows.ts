/**
 * Counts one attempt against each limit in turn, up to the first that refuses it, in one call. Returns the index of that limit,
 * or -1. It counts in the keys of @upstash/ratelimit and by its rules; the library counts one limit a call.
 *
 * KEYS: the current and the previous window of each limit. ARGV: the time, then for each limit how many attempts it allows,
 * its window, and 1 if it refuses. Times are in milliseconds. With the flag, Upstash locks these keys alone.
 */
export const SLIDING_WINDOWS = `#!lua flags=allow-key-locking
local now = tonumber(ARGV[1])
for i = 1, #KEYS / 2 do
  local current = KEYS[2 * i - 1]
  local most = tonumber(ARGV[3 * i - 1])
  local window = tonumber(ARGV[3 * i])
  local used = tonumber(redis.call("GET", current) or 0)
  local before = tonumber(redis.call("GET", KEYS[2 * i]) or 0)
  local carried = math.floor((1 - (now % window) / window) * before)
  if used + carried < most then
    if redis.call("INCRBY", current, 1) == 1 then
      redis.call("PEXPIRE", current, window * 2 + 1000)
    end
  elseif ARGV[3 * i + 1] == "1" then
    return i - 1
  end
end
return -1
`
