import { statSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  home,
  json,
  model,
  pendingId,
  run,
  shareTollgate,
  tollgate,
} from './command-line-under-test.ts';

shareTollgate();

describe('before a login', () => {
  test('says what to do', async () => {
    expect(await run(['users', 'list'])).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('tollgate login'),
    });
    expect(await run(['users', 'list', '--url', tollgate.adminUrl])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('not signed in'),
    });
  });

  test('in a checkout its installation is meant, and where its passwords are is said', async () => {
    const env = { TOLLGATE_URL_OF_CHECKOUT: tollgate.adminUrl };
    const { status, stderr } = await run(['users', 'list'], { env });
    expect(status).toBe(2);
    expect(stderr).toContain(`tollgate login --url ${tollgate.adminUrl} USERNAME`);
    expect(stderr).toContain('.tollgate/start.json');
    const elsewhere = await run(['users', 'list', '--url', 'http://127.0.0.1:9'], { env });
    expect(elsewhere.stderr).not.toContain('start.json');
  });

  test('a wrong password is reported, and nothing is kept', async () => {
    const ended = await run(['login', 'admin', '--url', tollgate.adminUrl, '--password-stdin'], {
      stdin: 'wrong password\n',
    });
    expect(ended).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('401 invalid_credentials'),
    });
    expect(() => statSync(path.join(home, 'tollgate/session.json'))).toThrow();
  });

  test('a command that does not exist is status 2, help is status 0', async () => {
    for (const words of [['frobnicate'], ['users', 'frobnicate']])
      expect(await run(words)).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('--help'),
      });
    expect(await run(['--help'])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('sync-all'),
    });
  });

  test('a server that does not answer is reported', async () => {
    expect(
      await run(['alerts', '--url', 'http://127.0.0.1:1'], { env: { TOLLGATE_TOKEN: 'x' } }),
    ).toMatchObject({ status: 2, stderr: expect.stringContaining('does not answer') });
  });

  test('TOLLGATE_URL and TOLLGATE_TOKEN stand in for one', async () => {
    const env = { TOLLGATE_URL: tollgate.adminUrl, TOLLGATE_TOKEN: tollgate.admin.token ?? '' };
    expect(await run(['models', 'list'], { env })).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(model.name),
    });
  });
});

describe('after a login', () => {
  beforeAll(async () => {
    const { username, password } = tollgate.adminCredentials;
    const ended = await run(
      ['login', username, '--url', `${tollgate.adminUrl}/`, '--password-stdin'],
      { stdin: `${password}\n` },
    );
    expect(ended).toMatchObject({ status: 0, stderr: '' });
  });

  test('the token is readable by its owner alone', () => {
    expect(statSync(path.join(home, 'tollgate/session.json')).mode & 0o777).toBe(0o600);
    expect(statSync(path.join(home, 'tollgate')).mode & 0o777).toBe(0o700);
  });

  test('it is not sent to another server', async () => {
    expect(await run(['alerts', '--url', 'http://127.0.0.1:1'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('not signed in to http://127.0.0.1:1'),
    });
  });

  test('in the checkout of another installation on this machine, it is said which one is meant', async () => {
    const say = async (own: string, more: string[] = []) =>
      (await run(['users', ...more], { env: { TOLLGATE_URL_OF_CHECKOUT: own } })).stderr;
    const other = 'http://127.0.0.1:9';
    expect(await say(other)).toContain(`installation of this checkout is ${other}`);
    expect(await say(other, ['delete', '1'])).toContain(
      `users delete 1 at ${tollgate.adminUrl}: this cannot be undone`,
    );
    expect(await say(tollgate.adminUrl)).toBe('');
    expect(await say(other, ['--url', tollgate.adminUrl])).toBe('');
  });

  test('users are listed, approved, frozen and unfrozen; a change that is not allowed is reported', async () => {
    expect((await json('users', 'list', '--status', 'pending')).data).toMatchObject([
      { id: pendingId, username: 'petra' },
    ]);
    expect((await run(['users', 'list'])).stdout).toMatch(
      /^ *ID +USERNAME +ROLE +STATUS +CREATED AT\n[^]*petra +user +pending/,
    );
    expect(await run(['users', 'approve', String(pendingId)])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/username +petra\n[^]*status +active/),
      stderr: '',
    });
    expect(await json('users', 'freeze', String(pendingId))).toMatchObject({
      id: pendingId,
      status: 'frozen',
    });
    expect(await json('users', 'unfreeze', String(pendingId))).toMatchObject({ status: 'active' });
    expect(await run(['users', 'reject', String(pendingId)])).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('409 invalid_transition'),
    });
    expect(await run(['users', 'approve', 'petra'])).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('409 invalid_transition'),
    });
    expect(await run(['users', 'approve', 'petr'])).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('"petr"'),
    });
  });

  test('a key is created, shown once, listed and disabled', async () => {
    const created = await run([
      'keys',
      'create',
      'ci',
      '--user',
      String(pendingId),
      '--models',
      model.name,
      '--rpm',
      '60',
    ]);
    expect(created).toMatchObject({ status: 0, stdout: expect.stringMatching(/^sk-tg-\S+\n$/) });
    const [listed] = (await json('keys', 'list', '--user', String(pendingId))).data;
    expect(listed).toMatchObject({
      name: 'ci',
      allowed_models: model.name,
      rpm: 60,
      rph: 0,
      status: 'enabled',
    });
    expect(created.stdout).toContain(listed.key_prefix);
    expect(await json('keys', 'disable', String(listed.id))).toMatchObject({ status: 'disabled' });
    const wrong = await run(['keys', 'create', 'bad', '--models', 'a,b c']);
    expect(wrong).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/400 invalid_request[^]*\n {2}allowed_models: /),
    });
  });

  test('prints JSON, tables or CSV, and its version', async () => {
    const listed = await run(['users', 'list', '--output', 'csv', '--search', 'petra']);
    expect(listed.stdout).toMatch(/^id,[^\n]*username[^\n]*\r\n[^\n]*petra/);
    expect((await run(['wallet', 'logs', '--output', 'csv'])).stdout).toMatch(/^[a-z_,]+\r?\n/);
    expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await run(['completion', 'bash'])).stdout).toContain('complete -F _tollgate tollgate');
    expect((await run(['__complete', '--', 'nodes', 'tog'])).stdout).toBe('toggle\n');
  });

  test('a body comes from options, from JSON, or from standard input', async () => {
    const created = JSON.parse(
      (
        await run(['models', 'create', '--body', '-', '--display-name', 'Second', '--json'], {
          stdin: '{"name": "second", "display_name": "First"}',
        })
      ).stdout,
    );
    expect(created).toMatchObject({ name: 'second', display_name: 'Second' });
    expect(await run(['models', 'create', '--body', '[1]'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('must be a JSON object'),
    });
  });

  test('deletes only once it is confirmed', async () => {
    const created = await json('models', 'create', 'short-lived');
    const refused = await run(['models', 'remove', String(created.id)]);
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining('--yes') });
    expect(await json('models', 'get', String(created.id))).toMatchObject({ name: 'short-lived' });
    expect(await run(['models', 'remove', String(created.id), '--yes'])).toMatchObject({
      status: 0,
    });
    expect(await run(['models', 'get', String(created.id)])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('404'),
    });
  });

  test('a repeat with one idempotency key pays in once', async () => {
    const pay = ['wallet', 'admin-recharge', '--user', String(pendingId), '--amount', '2.50'];
    const keyed = [...pay, '--note', 'test', '--idempotency-key', 'cli-recharge-1', '--json'];
    await run(keyed);
    await run(keyed);
    expect(await json('wallet', 'get', '--user', String(pendingId))).toMatchObject({
      balance: '2.5',
    });
  });

  test('sync-all names each node, and fails when one did not apply', async () => {
    expect(await run(['sync-all'])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/node-1 +applied/),
    });
    await tollgate.admin.call('POST', '/proxy-nodes', { name: 'ghost' });
    expect(await run(['sync-all'])).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/ghost +offline/),
    });
  });

  test('sync-all warns while publication is pinned, and says how to go on', async () => {
    const { version } = await json('sync-all');
    await tollgate.admin.call('POST', `/snapshots/${version}/rollback`);
    expect((await run(['sync-all'])).stderr).toMatch(
      /pinned to version \d+[^]*POST \/admin-api\/snapshots\/unpin/,
    );
    await tollgate.admin.call('POST', '/snapshots/unpin');
    expect((await run(['sync-all'])).stderr).toBe('');
  });

  test('config-check fails only for errors', async () => {
    const { ok } = await json('config-check');
    expect((await run(['config-check'])).status).toBe(ok ? 0 : 1);
    await tollgate.admin.createModel({
      name: 'nowhere',
      price: { price_per_million: '1' },
      is_on_shelf: true,
    });
    expect(await run(['config-check'])).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('model_without_route'),
    });
  });

  test('stats and alerts print tables and JSON', async () => {
    expect(await run(['stats', '--by', 'model', '--interval', 'hour'])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^(Nothing\.|AT +MODEL)/),
    });
    expect(await json('stats', '--by', 'model')).toMatchObject({
      interval: 'day',
      group_by: 'model',
      data: expect.any(Array),
    });
    expect(await json('alerts', '--status', 'all')).toMatchObject({ data: expect.any(Array) });
    const refused = await run(['stats', '--from', 'yesterday']);
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining('\n  from: ') });
    expect(refused.stderr.match(/from: /g)).toHaveLength(1);
  });

  test('logout ends the session', async () => {
    expect((await run(['logout'])).status).toBe(0);
    expect(await run(['users', 'list', '--url', tollgate.adminUrl])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('not signed in'),
    });
  });
});
