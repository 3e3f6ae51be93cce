import { parseArgs } from 'node:util';
import { findInstallation } from '@tollgate/tools';
import { z } from 'zod';
import { auditBooks } from './books/audit-books.ts';
import { concludeBooks, describeFindings, type Finding } from './books/finding.ts';

const USAGE = `npm run audit                                       the books of the running installation
npm run audit -- --load 10000 [--seed 7] [--kill]   a fresh installation under load, against the upstream's own record`;
/** The demo of a first start sends for a minute; what it sent is booked some seconds later. */
const DRAIN_MS = 90_000;
const SETTLE_MS = 15_000;
/** A moment of rest that takes longer than this to come is announced. */
const NOTICE_AFTER_MS = 3_000;
const count = z.coerce.number().int().positive();

/** Returns exit status 0 when the books close, 1 when they do not, 2 when the audit could not be made, 3 when there was no moment of rest to compare balances in. */
async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      load: { type: 'string' },
      seed: { type: 'string' },
      kill: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return say(USAGE, 0);
  const findings = await audit(values);
  const { says, exitStatus } = concludeBooks(findings);
  return say(`\n${describeFindings(findings)}\n\n${says}`, exitStatus);
}

async function audit({
  load,
  seed,
  kill,
}: {
  load?: string | undefined;
  seed?: string | undefined;
  kill: boolean;
}): Promise<Finding[]> {
  if (load === undefined) return auditRunning();
  // Only a load needs the harness, which the installation of the product does not bring.
  const { auditLoad } = await import('./load/audit-load.ts');
  return auditLoad({
    requests: count.parse(load),
    seed: seed === undefined ? Date.now() % 1_000_000 : count.parse(seed),
    kill,
    secondWindow: true,
    log: (line) => void say(line, 0),
  });
}

async function auditRunning(): Promise<Finding[]> {
  const notice = setTimeout(() => {
    say(`Requests are running; waiting up to ${DRAIN_MS / 1000} s for a moment of rest ...`, 0);
  }, NOTICE_AFTER_MS);
  try {
    const { databaseUrls, redisUrl } = findInstallation(process.env);
    const databaseUrl = databaseUrls.reader ?? databaseUrls.runtime;
    return await auditBooks(
      { databaseUrl, redisUrl },
      {
        drainMs: DRAIN_MS,
        settleMs: SETTLE_MS,
      },
    );
  } finally {
    clearTimeout(notice);
  }
}

function say(text: string, status: number): number {
  process.stdout.write(`${text}\n`);
  return status;
}

/** Databases that do not answer are most often an installation that was stopped. */
function describeFailure(error: unknown): string {
  const text = error instanceof Error ? error.message || String(error) : String(error);
  return Object(error).code === 'ECONNREFUSED'
    ? `The installation does not run: ${text}\n  Fix: npm start`
    : text;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exitCode = 2;
}
