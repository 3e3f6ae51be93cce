import { jest } from '@jest/globals';
import type { OpsAnswer } from '@tollgate/harness';
import { runCommand } from '../ops/run-command.ts';

/** Runs `tollgate-ops` in this process, one command at a time: the program alone takes a second of CPU to load. */
export async function runOpsHere(
  environment: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<OpsAnswer> {
  const answer: OpsAnswer = { status: 0, out: '', err: '' };
  const before = process.env;
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    jest.spyOn(process[stream], 'write').mockImplementation((text) => {
      answer[stream === 'stdout' ? 'out' : 'err'] += String(text);
      return true;
    }),
  );
  process.env = { PATH: before.PATH, ...environment };
  try {
    answer.status = await runCommand(args);
  } finally {
    process.env = before;
    for (const spy of spies) spy.mockRestore();
  }
  return answer;
}
