import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { runConformance } from './conformance.ts';
import { RECORDINGS_FOLDER } from './recordings.ts';
import { describeReplays } from './report.ts';

const TIMEOUT_MS = 120_000;

/** Answers of providers that do what few do; written down here, so that this part runs everywhere. */
const ODD_ANSWERS = path.join(import.meta.dirname, '../odd-answers');

async function expectAllThrough(folder: string): Promise<void> {
  const replays = await runConformance(folder);
  const failed = replays.filter(({ failures }) => failures.length > 0);
  expect(failed.length === 0 ? '' : describeReplays(failed)).toBe('');
  expect(replays.length).toBeGreaterThan(0);
}

describe('providers’ answers through a real node: bytes kept or meaning kept, and usage booked', () => {
  test('odd answers', () => expectAllThrough(ODD_ANSWERS), TIMEOUT_MS);

  if (existsSync(RECORDINGS_FOLDER)) test('every recorded answer', () => expectAllThrough(RECORDINGS_FOLDER), TIMEOUT_MS);
  else test.skip('skipped: there are no recordings beside the repository (../shared/fixtures)', () => undefined);
});
