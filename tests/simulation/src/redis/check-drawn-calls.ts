import { keys } from '../../../../libs/keyspace/test/past-the-stores.ts';
import { Random } from '../random.ts';
import { CallChecks } from './call-checks.ts';
import { DrawnCalls } from './drawn-calls.ts';
import { runCommand } from './redis-commands.ts';
import { RedisData, RedisError } from './redis-data.ts';
import type { RedisFunctions } from './redis-functions.ts';

const START_MS = 1_900_000_000_000;
const CALLS = 400;

/** Calls the functions in an order that no caller would choose: each rule of a call holds whatever came before. It throws `Violation`. */
export function checkDrawnCalls(functions: RedisFunctions, seed: number): void {
  const data = new RedisData();
  functions.restart();
  const checks = new CallChecks();
  const calls = new DrawnCalls(new Random(seed, 'calls'), START_MS);
  const opening = calls.opening();
  runCommand(data, 'set', [keys.epoch('s00'), 'e1']);
  for (let nth = 0; nth < CALLS; nth += 1) {
    const call = opening.shift() ?? calls.next();
    data.nowMs = START_MS + nth;
    data.takeUndo();
    const [first] = call.isRelaying ? (data.stream(keys.outbox('s00'))?.entries ?? []) : [];
    const parameters = first ? [...call.parameters, first.id] : call.parameters;
    if (isServed(() => functions.call(data, call.name, call.keys, parameters)))
      checks.after({ ...call, parameters }, data, data.takeUndo());
  }
}

/** Some are drawn so that the function refuses them. */
function isServed(call: () => unknown): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if (error instanceof RedisError) return false;
    throw error;
  }
}
