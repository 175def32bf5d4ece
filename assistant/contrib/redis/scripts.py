"""The Lua scripts that the event log runs in Redis."""

# Appends the events of many threads. A script is atomic, so that no other process writes between the events of a
# thread; XADD fails if the position of the first is taken. A Redis that is full or read-only refuses the first write of
# a script and no later one, so that nothing has been added when its error is returned. The added events are published
# to each reader's mailbox, in one message; a reader without a subscription is removed. Returns the indexes of threads
# to which nothing was added.
# KEYS: for each thread its stream and its set of readers.
# ARGV: how long to keep a stream in seconds, the writing process, the prefix of mailboxes, a string with a 1 for each
# thread whose expiry is to be set, and for each thread its run number, first event number, count, message and frames.
APPEND = """
local function refuses(err)
  local word = string.match(err, '%u+')
  return word == 'OOM' or word == 'READONLY' or word == 'MISCONF' or word == 'NOREPLICAS' or word == 'MASTERDOWN'
end
local keep, sender, mailbox, expiring = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local at, failed, mail = 5, {}, {}
for i = 1, #KEYS, 2 do
  local number, seq, count, text = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3]
  local is_added = true
  for j = 0, count - 1 do
    local answer = redis.pcall('XADD', KEYS[i], number .. '-' .. (seq + j), 'f', ARGV[at + 4 + j])
    if type(answer) == 'table' and answer.err then
      if refuses(answer.err) then return answer end
      is_added = false
      break
    end
  end
  at = at + 4 + count
  if is_added then
    -- A stream that was deleted in between, with its tenant, has no expiry.
    if string.byte(expiring, (i + 1) / 2) == 49 or redis.call('TTL', KEYS[i]) < 0 then
      redis.call('EXPIRE', KEYS[i], keep)
      redis.call('EXPIRE', KEYS[i + 1], keep)
    end
    for _, reader in ipairs(redis.call('SMEMBERS', KEYS[i + 1])) do
      if reader ~= sender then
        mail[reader] = mail[reader] or {}
        table.insert(mail[reader], text)
      end
    end
  else
    table.insert(failed, (i - 1) / 2)
  end
end
for reader, texts in pairs(mail) do
  if redis.call('PUBLISH', mailbox .. reader, '[' .. table.concat(texts, ',') .. ']') == 0 then
    for i = 2, #KEYS, 2 do redis.call('SREM', KEYS[i], reader) end
  end
end
return failed
"""

# Returns the entries of a stream from a position on, and adds a reader, unless it is empty.
# KEYS: the stream, the set of readers. ARGV: the position, the reader, the set's expiry in seconds.
READ = """
if ARGV[2] ~= '' then
  redis.call('SADD', KEYS[2], ARGV[2])
  redis.call('EXPIRE', KEYS[2], ARGV[3])
end
return redis.call('XRANGE', KEYS[1], ARGV[1], '+')
"""
# Returns the mark of this Redis's data, and makes one if there is none. KEYS: the mark. ARGV: a new one.
MARK = """
redis.call('SET', KEYS[1], ARGV[1], 'NX')
return redis.call('GET', KEYS[1])
"""
# Adds a reader to many sets. KEYS: the sets. ARGV: the reader, the sets' expiry in seconds.
RENEW = """
for i = 1, #KEYS do
  redis.call('SADD', KEYS[i], ARGV[1])
  redis.call('EXPIRE', KEYS[i], ARGV[2])
end
"""
