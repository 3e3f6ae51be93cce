import { setTimeout as sleep } from 'node:timers/promises';
import { plane } from '../../testing/ledger-plane-under-test.ts';

export { ledger, plane } from '../../testing/ledger-plane-under-test.ts';

const TRIES_MAX = 10;

export const post = <Path extends string>(
  path: Path,
  token: string,
  body: unknown,
  headers: Record<string, string> = {},
) => plane.call('POST', path, { token, body, headers });

/** Calls `post` and repeats a 503 after its Retry-After: on a busy machine a hundred simultaneous requests may wait too long for a connection. */
export async function patientPost<Path extends string>(
  ...call: Parameters<typeof post<Path>>
): ReturnType<typeof post<Path>> {
  for (let tries = 1; ; tries += 1) {
    const answer = await post(...call);
    if (answer.status !== 503 || tries === TRIES_MAX) return answer;
    await sleep(Number(answer.headers.get('retry-after')) * 1_000);
  }
}

/** Counts the answers by status and refusal code. */
export function tally(
  answers: readonly { status: number; body: { code?: string } }[],
): Record<string, number> {
  const groups = Map.groupBy(answers, ({ status, body }) =>
    status < 400 ? String(status) : `${status} ${body.code}`,
  );
  return Object.fromEntries([...groups].map(([what, { length }]) => [what, length]));
}
