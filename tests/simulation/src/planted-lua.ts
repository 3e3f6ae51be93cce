import { readFunctionSource, readLua } from '../../../libs/keyspace/test/past-the-stores.ts';
import { RedisFunctions } from './redis/redis-functions.ts';

/** Lists errors in the functions of Redis: in which file, what is written there, and what replaces it. */
const ERRORS: Record<string, [file: string, written: string, planted: string]> = {
  'a final is settled under an old epoch': [
    'settle',
    "if not standing_of(found[1], ARGV[1]) then return { 'FENCED', 'epoch' } end",
    '',
  ],
  'a settled request is settled again': [
    'settle',
    "hold.st == 'done' then",
    "hold.st == 'never' then",
  ],
  'a correction charges the whole again': ['settle', 'charge - hold.chg', 'charge'],
  'a settlement releases nothing': ['settle', 'sub.held = sub.held - hold.amt', ''],
  'what is settled after a withdrawal leaves whole': [
    'settle',
    'released = hold.amt - charge',
    'released = hold.amt',
  ],
  'what is released after a withdrawal stays': ['shared/events', 'if not is_leaving then', 'do'],
  'leases are not looked at by the reaper': ['reap', 'tonumber(deadline) > now', 'false'],
  'a reap debits nothing': ['reap', 'sub.bal = sub.bal - charge', ''],
  'a credit after a gap is applied': ['credit', 'seq > applied + 1', 'false'],
  'a credit is applied twice': ['credit', 'seq <= applied', 'seq < applied'],
  'a withdrawal takes what is held': ['withdraw', 'free_of(balance, held)', 'balance'],
  'a withdrawal does not wait for credits': [
    'withdraw',
    '(natural(sub[7]) or 0) < credit_seq',
    'false',
  ],
  'an ended hold is restored': ['restore', "if hold then return { 'GONE', hold.st } end", ''],
  'a restored hold is larger than what is free': [
    'restore',
    'math.max(0, math.min(want, free_of(spendable(KEYS[1], KEYS[2], sub.bal), sub.held)))',
    'want',
  ],
  'a restored hold gets no lease': [
    'restore',
    "redis.call('ZADD', KEYS[4], deadline, ARGV[2])\n  return { 'OK', text(amount) }",
    "return { 'OK', text(amount) }",
  ],
  'requests are admitted while holds are restored': [
    'admit',
    "standing_of(found[1], ARGV[1]) ~= 'open'",
    'not standing_of(found[1], ARGV[1])',
  ],
  'a grant is larger than what is free': ['admit', 'math.min(want, available)', 'want'],
  'an extension is larger than what is free': [
    'checkpoint',
    'math.max(0, math.min(extend, free_of(balance, held)))',
    'extend',
  ],
  'a release is repeated although Redis has it': [
    'repeat-release',
    "if hold and hold.c2 then return { 'DUPLICATE' } end",
    '',
  ],
  'a withdrawal is repeated although Redis has it': [
    'repeat-withdrawal',
    'sub[3] >= ARGV[3]',
    'false',
  ],
  'markers of settled requests are kept for a second': [
    'shared/holds',
    'DONE_TTL_MS = 15 * 60 * 1000',
    'DONE_TTL_MS = 1000',
  ],
  'a reap keeps what it held of budgets': ['reap', 'unheld = hold.amt, now = now', 'now = now'],
  'a settlement keeps what it held of budgets': [
    'settle',
    "unheld = from == 'open' and hold.amt or nil, now = now",
    'now = now',
  ],
  'a settlement releases what it held of budgets twice': [
    'settle',
    "unheld = from == 'open' and hold.amt or nil, now = now",
    "unheld = from == 'open' and 2 * hold.amt or nil, now = now",
  ],
  'a settlement counts in the period of its own time': [
    'shared/budgets',
    'note_counts(key, claim, used, held, fields)\n    if',
    "claim.name = claim.id .. ':' .. text(math.floor(move.now / 1000)) note_counts(key, claim, used, held, fields)\n    if",
  ],
  'a budget of reported tokens counts charged ones': ['settle', 'reported = reported, ', ''],
  'a correction is used of budgets on top of the reap': [
    'settle',
    "unused = from == 'reaped' and hold.chg or nil, ",
    '',
  ],
  'a restored hold is held twice in budgets': [
    'restore',
    '{ held = amount, now',
    '{ held = 2 * amount, now',
  ],
  'a restored hold is not held in budgets, but is released from them': [
    'restore',
    'if budgets then move_claims(KEYS[5], claims_in(budgets), { held = amount, now = now }) end',
    '',
  ],
  'a hold names another period than it counts in': [
    'shared/budget-claims',
    "claim.name .. ':' .. text(claim.rate)",
    "claim.id .. ':' .. claim.at.ends .. ':' .. text(claim.rate)",
  ],
  'what a session used counts for all': [
    'shared/budgets',
    'if claim.value then return write_counts(place_of(key, claim.value), claim.name, used, held) end',
    '',
  ],
  'a shard opens whatever stands there': ['advance-epoch', '~= ARGV[1]', '== false'],
};

export const PLANTED_LUA = Object.entries(ERRORS).map(([name, [file, written, planted]]) => ({
  name,
  functions: () =>
    new RedisFunctions(
      readFunctionSource((each) => {
        const text = readLua(each);
        if (each !== file) return text;
        if (!text.includes(written)) throw new Error(`${file}.lua does not say: ${written}`);
        return text.replace(written, () => planted);
      }),
    ),
}));
