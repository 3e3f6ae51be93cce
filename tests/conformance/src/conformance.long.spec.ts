import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { runConformance } from './conformance.ts';
import { RECORDINGS_FOLDER } from './recordings.ts';
import { describeReplays } from './report.ts';

const TIMEOUT_MS = 240_000;

/** Has answers of providers that do what few do; they are written down here, so that this part runs everywhere. */
const ODD_ANSWERS = path.join(import.meta.dirname, '../odd-answers');
const hasRecordings = existsSync(RECORDINGS_FOLDER);

test(
  'every provider’s answer comes through a real node with its bytes, or its meaning in the other protocol, and its usage is booked',
  async () => {
    const replays = await runConformance([
      ODD_ANSWERS,
      ...(hasRecordings ? [RECORDINGS_FOLDER] : []),
    ]);
    const failed = replays.filter(({ failures }) => failures.length > 0);
    expect(failed.length === 0 ? '' : describeReplays(failed)).toBe('');
    expect(replays.length).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);

if (!hasRecordings)
  test.skip('recorded answers: skipped, as there are none beside the repository (../shared/fixtures, or TOLLGATE_FIXTURES)', () =>
    undefined);
