import { answerOf, createAdminClient } from '@tollgate/admin-client';
import type { Command } from 'commander';
import { connect, serverUrl, type Shared } from '../connection.ts';
import { show } from '../print.ts';
import { readPassword } from '../read-password.ts';
import { forgetSession, sessionPath, writeSession } from '../session-file.ts';

interface LoginOptions extends Shared {
  passwordStdin?: boolean;
}

export function addSessionCommands(program: Command): void {
  program
    .command('login <username>')
    .description('sign in and keep the token, readable by you alone')
    .option('--password-stdin', 'read the password from standard input')
    .action(async (username: string, _options: unknown, command: Command) =>
      login(username, command.optsWithGlobals<LoginOptions>()),
    );
  program
    .command('logout')
    .description('end this session and forget its token')
    .action(async (_options: unknown, command: Command) =>
      logout(command.optsWithGlobals<Shared>()),
    );
}

async function login(username: string, options: LoginOptions): Promise<void> {
  const url = serverUrl(options);
  const password = await readPassword({ fromStdin: options.passwordStdin ?? false });
  const { token, user } = await answerOf(
    createAdminClient({ baseUrl: url }).POST('/admin-api/auth/login', {
      body: { username, password },
    }),
  );
  if (token === undefined) throw new Error('The server sent no token');
  writeSession(process.env, { url, token, username: user.username });
  show(
    options.json ?? false,
    { url, user },
    () =>
      `Signed in to ${url} as ${user.username} (${user.role}). The token is in ${sessionPath(process.env)}.\n`,
  );
}

async function logout(options: Shared): Promise<void> {
  const answer = await answerOf(connect(options).POST('/admin-api/auth/logout'));
  forgetSession(process.env);
  show(options.json ?? false, answer, () => 'Signed out.\n');
}
