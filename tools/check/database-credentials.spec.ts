import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const root = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

const service = z.looseObject({
  environment: z.record(z.string(), z.string()).default({}),
  depends_on: z.unknown().optional(),
  command: z.unknown().optional(),
});
type Service = z.infer<typeof service>;
const { services } = z
  .looseObject({ services: z.record(z.string(), service) })
  .parse(parse(read('docker-compose.yml'), { merge: true }));

test('in every way to install, who migrates has the addresses of the owner and the administrator, and no process that serves has them', () => {
  const powerful = /DATABASE_(OWNER|ADMIN|READER)_URL/;
  const holders = Object.entries(services).filter(([, { environment }]) =>
    Object.keys(environment).some((name) => powerful.test(name)),
  );
  expect(holders.map(([name]) => name)).toEqual(['migrate']);
  const { environment, command, depends_on: after } = services.migrate as Service;
  expect(command).toEqual(['tollgate-ops', 'migrate']);
  expect(after).toEqual({ postgres: { condition: 'service_healthy' } });
  expect(services['control-plane']?.depends_on).toMatchObject({
    migrate: { condition: 'service_completed_successfully' },
  });
  // The four addresses are of four roles, and the runtime's is the control plane's.
  expect(environment.DATABASE_URL).toBe(services['control-plane']?.environment.DATABASE_URL);
  const roles = Object.values(environment).map((url) => /\/\/([^:]+):\$\{(\w+)/.exec(url));
  expect(new Set(roles.map((role) => role?.[1])).size).toBe(4);
  expect(new Set(roles.map((role) => role?.[2])).size).toBe(4);
  const chart = 'deploy/helm/tollgate/templates';
  expect(read(`${chart}/migrate.yaml`)).toMatch(
    /optionalSecretEnv.*"DATABASE_OWNER_URL".*"DATABASE_ADMIN_URL"/,
  );
  for (const file of ['control-plane.yaml', 'proxy-node.yaml'])
    expect(read(`${chart}/${file}`)).not.toMatch(powerful);
  expect(read('deploy/systemd/tollgate-control-plane.service')).not.toMatch(powerful);
  expect(read('deploy/systemd/tollgate-migrate.service')).toContain('/etc/tollgate/migrate.env');
  expect(read('deploy/pack.sh')).toContain('cp -R deploy/postgres "$target/deploy/postgres"');
});

test('an image has the API document that the control plane serves', () => {
  expect(read('deploy/pack.sh')).toContain(
    'cp libs/admin-client/openapi.json "$target/libs/admin-client/"',
  );
});
