import type { AdminClient } from '@tollgate/admin-client';
import type { Command } from 'commander';
import { applySteps } from '../config/apply.ts';
import { readConfigFile, type ConfigFile } from '../config/config-file.ts';
import { describePlan, headOf } from '../config/describe-plan.ts';
import { exportConfig, missingSecrets } from '../config/export.ts';
import { readInstallation, readSubscriptions, type Installation } from '../config/installation.ts';
import { planChanges } from '../config/plan.ts';
import type { Plan } from '../config/step.ts';
import { confirm } from '../confirm.ts';
import { connect, outputOf, serverUrl, type Shared } from '../connection.ts';
import { EXIT } from '../failure.ts';
import { show } from '../print.ts';

interface ConfigOptions extends Shared {
  prune?: boolean;
  sendSecrets?: boolean;
  yes?: boolean;
}

/** Adds `tollgate config export | plan | apply`: models, prices, upstreams, routes and ceilings as a file. */
export function addConfigCommands(program: Command): void {
  const group = program
    .command('config')
    .description('models, prices, upstreams, routes and ceilings as a YAML file');
  group
    .command('export')
    .description('write the configuration of the installation as YAML, without secrets')
    .action(async (_options: unknown, command: Command) =>
      exportFile(command.optsWithGlobals<ConfigOptions>()),
    );
  const plan = group
    .command('plan')
    .description('show what apply would change; status 1 when something differs')
    .action(async (file: string, _options: unknown, command: Command) =>
      planFile(file, command.optsWithGlobals<ConfigOptions>()),
    );
  const apply = group
    .command('apply')
    .description('make the installation as the file says; status 1 when something still differs')
    .option('--yes', 'do not ask before something is removed')
    .action(async (file: string, _options: unknown, command: Command) =>
      applyFile(file, command.optsWithGlobals<ConfigOptions>()),
    );
  for (const command of [plan, apply])
    command
      .argument('<file>', 'YAML, or - for standard input')
      .option('--prune', 'remove what the sections of the file do not have')
      .option('--send-secrets', 'send secrets also where the installation has one');
}

async function exportFile(options: ConfigOptions): Promise<void> {
  const installation = await readInstallation(connect(options));
  process.stdout.write(exportConfig(installation));
  for (const name of missingSecrets(installation))
    process.stderr.write(`The credential of ${name} is not in the file: add "auth" by hand.\n`);
}

async function planFile(path: string, options: ConfigOptions): Promise<void> {
  const file = readConfigFile(path);
  const { plan } = await compare(connect(options), file, options);
  show(outputOf(options) === 'json', plan, () => describePlan(plan));
  if (plan.steps.length > 0) process.exitCode = EXIT.notWell;
}

async function applyFile(path: string, options: ConfigOptions): Promise<void> {
  const file = readConfigFile(path);
  const client = connect(options);
  const { plan, installation } = await compare(client, file, options);
  const isJson = outputOf(options) === 'json';
  if (!isJson) process.stdout.write(describePlan(plan));
  const removals = plan.steps.filter(({ action }) => action === 'remove').length;
  if (removals > 0)
    await confirm(
      `${removals} removals at ${new URL(serverUrl(options)).origin} cannot be undone. Continue?`,
      options.yes ?? false,
    );
  const { done, failures } = await applySteps(client, plan.steps, installation);
  for (const { step, message } of failures) process.stderr.write(`${headOf(step)}: ${message}\n`);
  const rest =
    failures.length > 0 || done.length === 0 ? [] : await remaining(client, file, options);
  const failed = failures.map(({ step, message }) => ({ step: headOf(step), message }));
  const answer = { applied: done.length, failed, remaining: rest };
  show(isJson, answer, () => `${done.length} of ${plan.steps.length} changes are applied.\n`);
  for (const head of rest) process.stderr.write(`${head}: the installation keeps another value\n`);
  if (rest.length > 0) process.exitCode = EXIT.notWell;
  if (failures.length > 0) process.exitCode = EXIT.failed;
}

/** Returns the changes of a second plan. Secrets are not compared, because they were sent. */
async function remaining(
  client: AdminClient,
  file: ConfigFile,
  options: ConfigOptions,
): Promise<string[]> {
  const { plan } = await compare(client, file, { ...options, sendSecrets: false });
  return plan.steps.map(headOf);
}

async function compare(
  client: AdminClient,
  file: ConfigFile,
  { prune = false, sendSecrets = false }: ConfigOptions,
): Promise<{ plan: Plan; installation: Installation }> {
  const installation = await readInstallation(client);
  const subscriptionsOf = (ids: readonly number[]) => readSubscriptions(client, ids);
  const plan = await planChanges(file, installation, { prune, sendSecrets, subscriptionsOf });
  return { plan, installation };
}
