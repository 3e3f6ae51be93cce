import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import { configSchema as controlPlaneSchema } from '../../apps/control-plane/src/config.ts';
import { configSchema as proxyNodeSchema } from '../../apps/proxy-node/src/config.ts';
import { named, nodes, read } from './compose-under-test.ts';

test('passes every setting that an app knows, but those that the images and the compose file choose', () => {
  const chosen = {
    // The images set where they listen and where the console is.
    'control-plane': ['HOST', 'PORT', 'CONSOLE_FOLDER'],
    // These are names and addresses of each node.
    'node-1': ['HOST', 'PORT', 'NODE_CREDENTIAL_FILE', 'NODE_WORKER', 'PUBLIC_URL'],
  };
  for (const [name, schema] of [
    ['control-plane', controlPlaneSchema],
    ['node-1', proxyNodeSchema],
  ] as const) {
    const { environment } = named(name);
    const missing = Object.keys(schema.shape).filter((variable) => !(variable in environment));
    expect(missing.toSorted()).toEqual(chosen[name].toSorted());
  }
});

test('the supplied sample of Prometheus scrapes every process of the compose file with one credential', () => {
  const sample = z
    .object({
      scrape_configs: z.array(
        z.object({
          authorization: z.object({ credentials_file: z.string() }),
          static_configs: z.array(z.object({ targets: z.array(z.string()) })),
        }),
      ),
    })
    .parse(parse(read('deploy/prometheus/prometheus.example.yaml'))).scrape_configs;
  expect(new Set(sample.map(({ authorization }) => authorization.credentials_file)).size).toBe(1);
  const targets = sample.flatMap(({ static_configs }) =>
    static_configs.flatMap((each) => each.targets),
  );
  const apps = ['control-plane', ...nodes.map(([name]) => name)];
  expect(targets.toSorted()).toEqual(apps.map((name) => `${name}:8080`).toSorted());
  const credentials = apps.map((name) => named(name).environment.METRICS_CREDENTIAL);
  expect(new Set(credentials)).toEqual(new Set(['${METRICS_CREDENTIAL:?}']));
});

test('names every value that compose needs, here or in the table of all settings, and no other', () => {
  const used = new Set(
    [...read('docker-compose.yml').matchAll(/\$\{(\w+)/g)].map(([, name]) => name),
  );
  const asked = new Set(
    [...read('deploy/example.env').matchAll(/^(\w+)=/gm)].map(([, name]) => name),
  );
  const settings = new Set(
    [...read('docs/configuration.md').matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name),
  );
  expect([...used].filter((name) => !asked.has(name) && !settings.has(name))).toEqual([]);
  expect([...asked].filter((name) => !used.has(name))).toEqual([]);
});
