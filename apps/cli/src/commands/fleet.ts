import { answerOf } from '@tollgate/admin-client';
import type { Command } from 'commander';
import { connect, type Shared } from '../connection.ts';
import { EXIT } from '../failure.ts';
import { show, table } from '../print.ts';

export function addFleetCommands(program: Command): void {
  program
    .command('sync-all')
    .description(
      'publish the configuration and wait for every node; status 1 unless all applied it',
    )
    .action(async (_options: unknown, command: Command) =>
      syncAll(command.optsWithGlobals<Shared>()),
    );
  program
    .command('config-check')
    .description('look for mistakes and drift without publishing; status 1 when there is an error')
    .action(async (_options: unknown, command: Command) =>
      configCheck(command.optsWithGlobals<Shared>()),
    );
}

async function syncAll(options: Shared): Promise<void> {
  const answer = await answerOf(connect(options).POST('/admin-api/proxy-nodes/sync-all'));
  const rows = answer.nodes.map((node) => [
    node.id,
    node.name,
    node.outcome,
    node.version,
    node.applied_at,
  ]);
  show(
    options.json ?? false,
    answer,
    () =>
      `Version ${answer.version}\n${table(['id', 'node', 'outcome', 'version', 'applied'], rows)}`,
  );
  if (answer.pinned_version !== null)
    process.stderr.write(
      `Warning: publication is pinned to version ${answer.pinned_version}; later changes are not in it.\n  Fix: POST /admin-api/snapshots/unpin\n`,
    );
  if (answer.nodes.some((node) => node.outcome !== 'applied')) process.exitCode = EXIT.notWell;
}

async function configCheck(options: Shared): Promise<void> {
  const answer = await answerOf(connect(options).GET('/admin-api/proxy/config-check'));
  const rows = answer.problems.map(({ severity, code, subject, message }) => [
    severity,
    code,
    subject.id === null ? subject.kind : `${subject.kind} ${subject.id}`,
    message,
  ]);
  show(options.json ?? false, answer, () =>
    rows.length === 0
      ? `Nothing is wrong. Version ${answer.version ?? 'none'} is published.\n`
      : table(['severity', 'code', 'about', 'problem'], rows),
  );
  if (!answer.ok) process.exitCode = EXIT.notWell;
}
