import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Lists chunks before functions, each after what it uses. */
const SHARED = [
  'rights',
  'values',
  'epochs',
  'ceilings',
  'globs',
  'rates',
  'budget-claims',
  'budget-values',
  'budget-windows',
  'budgets',
  'limits',
  'addresses',
  'caller',
  'holds',
  'events',
  'records',
  'recharge',
] as const;

/** `allow-oom` marks all that frees memory or must not wait for it: a full Redis can still settle, relay and freeze, but admits nothing. */
const FUNCTIONS = {
  admit: { file: 'admit', flags: [] },
  access: { file: 'access', flags: ['no-writes'] },
  inquire: { file: 'inquire', flags: [] },
  checkpoint: { file: 'checkpoint', flags: ['allow-oom'] },
  restore: { file: 'restore', flags: ['allow-oom'] },
  settle: { file: 'settle', flags: ['allow-oom'] },
  reap: { file: 'reap', flags: ['allow-oom'] },
  credit: { file: 'credit', flags: ['allow-oom'] },
  withdraw: { file: 'withdraw', flags: ['allow-oom'] },
  repeat_withdrawal: { file: 'repeat-withdrawal', flags: ['allow-oom'] },
  repeat_release: { file: 'repeat-release', flags: ['allow-oom'] },
  repeat_reap: { file: 'repeat-reap', flags: ['allow-oom'] },
  unbooked_reaps: { file: 'unbooked-reaps', flags: ['no-writes'] },
  put_key: { file: 'put-key', flags: ['allow-oom'] },
  put_account: { file: 'put-account', flags: ['allow-oom'] },
  put_subscription: { file: 'put-subscription', flags: ['allow-oom'] },
  recount: { file: 'recount', flags: ['allow-oom'] },
  raise_budget: { file: 'raise-budget', flags: ['allow-oom'] },
  reset_credits: { file: 'reset-credits', flags: ['allow-oom'] },
  vouch: { file: 'vouch', flags: ['allow-oom'] },
  advance_epoch: { file: 'advance-epoch', flags: ['allow-oom'] },
  relay: { file: 'relay', flags: ['allow-oom'] },
  publish: { file: 'publish', flags: [] },
} as const;

/** Lists the functions that nodes call. Redis refuses all others to their user. */
export const OF_NODES: ReadonlySet<string> = new Set([
  ...['access', 'inquire', 'admit', 'checkpoint', 'restore', 'settle', 'reap', 'relay'],
]);

export type FunctionName = keyof typeof FUNCTIONS;
export const FUNCTION_NAMES = Object.keys(FUNCTIONS) as FunctionName[];

export interface FunctionSource {
  /** Is the text for FUNCTION LOAD. */
  text: string;
  /** Is `tollgate_<hash>`, so that two releases can keep their libraries side by side. */
  library: string;
  nameOf(name: FunctionName): string;
}

/** Assembles lua/ into one library whose names carry the hash of their text. */
export function readFunctionSource(read: (file: string) => string = readLua): FunctionSource {
  const chunks = [
    ...SHARED.map((name) => read(`shared/${name}`)),
    ...FUNCTION_NAMES.map((name) => read(FUNCTIONS[name].file)),
  ].join('\n');
  const flags = JSON.stringify(FUNCTIONS);
  const hash = createHash('sha256').update(chunks).update(flags).digest('hex').slice(0, 12);
  const nameOf = (name: FunctionName): string => `tollgate_${name}_${hash}`;
  const registrations = FUNCTION_NAMES.map(
    (name) =>
      `redis.register_function{ function_name = '${nameOf(name)}', callback = ${OF_NODES.has(name) ? name : `of_control_plane(${name})`}, flags = { ${FUNCTIONS[name].flags.map((flag) => `'${flag}'`).join(', ')} } }`,
  );
  const library = `tollgate_${hash}`;
  return {
    library,
    nameOf,
    text: `#!lua name=${library}\n${chunks}\n${registrations.join('\n')}\n`,
  };
}

/** lua/ is next to both src and dist. */
export function readLua(file: string): string {
  return readFileSync(new URL(`../../lua/${file}.lua`, import.meta.url), 'utf8');
}
