import { answerOf } from '@tollgate/admin-client';
import { Option, type Command } from 'commander';
import { connect, type Shared } from '../connection.ts';
import { show, table } from '../print.ts';

const GROUPS = ['model', 'key', 'user', 'upstream'] as const;
interface StatsOptions extends Shared {
  from?: string;
  to?: string;
  interval: 'minute' | 'hour' | 'day';
  by?: (typeof GROUPS)[number];
}

export function addReportCommands(program: Command): void {
  program
    .command('stats')
    .description('usage by hour or day')
    .option('--from <time>', 'ISO 8601; the last 24 hours or 30 days by default')
    .option('--to <time>', 'ISO 8601')
    .addOption(
      new Option('--interval <interval>').choices(['minute', 'hour', 'day']).default('day'),
    )
    .addOption(new Option('--by <group>').choices(GROUPS))
    .action(async (_options: unknown, command: Command) =>
      stats(command.optsWithGlobals<StatsOptions>()),
    );
}

async function stats(options: StatsOptions): Promise<void> {
  const { from, to, interval, by } = options;
  const query = {
    interval,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(by && { group_by: by }),
  };
  const answer = await answerOf(
    connect(options).GET('/admin-api/usage/statistics', { params: { query } }),
  );
  if (typeof answer === 'string') throw new Error('The server sent an answer that is not JSON');
  const header = [
    'at',
    ...(by ? [by] : []),
    'requests',
    'errors',
    'input',
    'output',
    'charged',
    'p50 ms',
    'p95 ms',
    'first token p50 ms',
  ];
  const rows = answer.data.map((row) => [
    row.at,
    ...(by ? [row[by]] : []),
    row.requests,
    row.errors,
    row.input_tokens,
    row.output_tokens,
    row.charge,
    row.duration_ms.p50,
    row.duration_ms.p95,
    row.first_token_ms.p50,
  ]);
  show(options.json ?? false, answer, () => table(header, rows));
}
