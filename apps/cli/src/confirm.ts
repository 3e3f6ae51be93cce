import { createInterface } from 'node:readline/promises';
import { UsageError } from './failure.ts';

/** Asks before an irreversible act; `--yes` answers in advance. Without a terminal it cannot ask. */
export async function confirm(question: string, isConfirmed: boolean): Promise<void> {
  if (isConfirmed) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new UsageError(`${question}\n  Fix: add --yes to confirm without a terminal.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError('Nothing was done.');
  } finally {
    terminal.close();
  }
}
