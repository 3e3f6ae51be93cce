import { parseArgs } from 'node:util';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { ROOT } from '../checkout.ts';
import { CHART, valueTable } from '../deploy/chart-values.ts';
import {
  deployTools,
  KUBERNETES_VERSION,
  ToolMissing,
  type DeployTools,
} from '../deploy/deploy-tools.ts';
import { composeProblems } from '../deploy/compose-file.ts';
import { manifestsOf, PLANTED, startCluster, type Cluster } from '../deploy/cluster.ts';
import { writeSchemas } from '../deploy/kubernetes-schemas.ts';
import { chartViolations, resourcesOf } from '../deploy/rendered-chart.ts';
import { updateViolations } from '../deploy/update-rules.ts';
import { hasSystemdAnalyze, unitProblems } from '../deploy/units.ts';

const PROMETHEUS = path.join(ROOT, 'deploy/prometheus');

interface Look {
  name: string;
  /** Returns the problems found; an empty list when there are none. */
  look: () => string[] | Promise<string[]>;
}

interface Judged {
  name: string;
  problems: string[];
}

export { ToolMissing };

/**
 * Runs `npm run check:deploy [-- --api-server]`: it checks chart, alert rules and their unit tests with the tools that operators use, on request also
 * with a real API server. It installs these tools and ends with `N passed, N failed`.
 */
export async function checkDeploy(args: readonly string[] = []): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { 'api-server': { type: 'boolean' } } });
  try {
    const judged = await judgeAll({ isWithServer: values['api-server'] === true });
    const failed = judged.filter(({ problems }) => problems.length > 0).length;
    console.log(`${listed(judged)}\n${judged.length - failed} passed, ${failed} failed`);
    return failed === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof ToolMissing)) throw error;
    console.log(`${error.message}\n0 passed, 1 failed`);
    return 1;
  }
}

/** Runs these checks without the API server, as a step of `npm run check`. It throws ToolMissing. */
export async function judgeDeployment(): Promise<{ isPassed: boolean; output: string }> {
  const bad = (await judgeAll({ isWithServer: false })).filter(
    ({ problems }) => problems.length > 0,
  );
  return { isPassed: bad.length === 0, output: listed(bad) };
}

async function judgeAll({ isWithServer }: { isWithServer: boolean }): Promise<Judged[]> {
  const work = mkdtempSync(path.join(tmpdir(), 'tollgate-check-deploy-'));
  let cluster: Cluster | undefined;
  try {
    const tools = await deployTools();
    const schemas = path.join(work, 'schemas');
    writeSchemas(tools, schemas);
    const compose = {
      name: 'docker-compose.yml, by the loader of Docker Compose',
      look: () => composeProblems(tools.composeLoader),
    };
    const looks: Look[] = [
      ...chartLooks(tools, { work, schemas }),
      compose,
      ...ruleLooks(tools),
      ...unitLooks(),
    ];
    if (isWithServer) {
      cluster = await startCluster(tools, path.join(work, 'cluster'));
      looks.push(...clusterLooks(tools, cluster));
    }
    const judged: Judged[] = [];
    for (const { name, look } of looks) judged.push({ name, problems: await look() });
    return judged;
  } finally {
    await cluster?.stop();
    rmSync(work, { recursive: true, force: true });
  }
}

function listed(judged: readonly Judged[]): string {
  return judged
    .flatMap(({ name, problems }) => [
      `${problems.length === 0 ? 'ok  ' : 'FAIL'}  ${name}`,
      ...problems.map((problem) => `      ${problem}`),
    ])
    .join('\n');
}

function chartLooks(
  { helm, kubeconform }: DeployTools,
  { work, schemas }: { work: string; schemas: string },
): Look[] {
  return valueTable().flatMap(({ name, files }) => {
    const values = files.flatMap((file) => ['--values', file]);
    const manifest = path.join(work, `${name}.yaml`);
    return [
      {
        name: `chart, ${name}: helm lint`,
        look: () => run(helm, ['lint', '--strict', CHART, ...values]).problems,
      },
      {
        name: `chart, ${name}: Kubernetes ${KUBERNETES_VERSION} knows every field, pods are restricted, secrets are references, updates lose nothing`,
        look: () => {
          const { output, problems } = rendered(helm, files);
          if (problems.length > 0) return problems;
          writeFileSync(manifest, output);
          const location = path.join(schemas, '{{.ResourceKind}}{{.KindSuffix}}.json');
          return [
            ...run(kubeconform, ['-strict', '-schema-location', location, manifest]).problems,
            ...chartViolations(resourcesOf(output)),
            ...updateViolations(resourcesOf(output)),
          ];
        },
      },
    ];
  });
}

function rendered(
  helm: string,
  files: readonly string[],
  settings: readonly string[] = [],
): { output: string; problems: string[] } {
  const values = [
    ...files.flatMap((file) => ['--values', file]),
    ...settings.flatMap((setting) => ['--set', setting]),
  ];
  return run(helm, [
    'template',
    'tollgate',
    CHART,
    '--kube-version',
    KUBERNETES_VERSION,
    ...values,
  ]);
}

/** Returns true when a real API server accepts the chart, as `kubectl apply --server-side --dry-run=server` would ask it. */
function clusterLooks({ helm }: DeployTools, cluster: Cluster): Look[] {
  const each = valueTable().map(({ name, files }) => ({
    name: `chart, ${name}: an API server of Kubernetes ${KUBERNETES_VERSION} takes every object, and every pod in a namespace that enforces "restricted"`,
    look: async () => {
      const { output, problems } = rendered(helm, files);
      return problems.length > 0 ? problems : cluster.objections(manifestsOf(output));
    },
  }));
  const planted = {
    name: 'the API server refuses a field that it does not know and a pod that is not restricted',
    look: async () =>
      (await Promise.all(PLANTED.map((manifest) => cluster.objections([manifest])))).flatMap(
        (found, index) => (found.length > 0 ? [] : [`planted object ${index + 1} was taken`]),
      ),
  };
  const update = {
    name: "an update of the chart by Kubernetes' controllers: control planes never fewer, nodes one after the other with their journals and time to drain, evictions by the budget",
    look: () =>
      cluster.updateProblems((tag) => manifestsOf(rendered(helm, [], [`image.tag=${tag}`]).output)),
  };
  return [...each, planted, update];
}

function ruleLooks({ promtool }: DeployTools): Look[] {
  const look = (name: string, args: readonly string[]): Look => ({
    name,
    look: () => run(promtool, args).problems,
  });
  return [
    look('alert rules', ['check', 'rules', path.join(PROMETHEUS, 'tollgate.rules.yaml')]),
    look('unit tests of the alert rules', [
      'test',
      'rules',
      ...['rules', 'long-rules'].map((name) => path.join(PROMETHEUS, `tollgate.${name}.test.yaml`)),
    ]),
    look('configuration of Prometheus', [
      'check',
      'config',
      '--syntax-only',
      path.join(PROMETHEUS, 'prometheus.example.yaml'),
    ]),
  ];
}

function unitLooks(): Look[] {
  if (hasSystemdAnalyze()) return [{ name: 'systemd units', look: unitProblems }];
  console.log('note  systemd-analyze is not here: the systemd units are not verified');
  return [];
}

function run(program: string, args: readonly string[]): { output: string; problems: string[] } {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error) return { output: '', problems: [error.message] };
  if (status === 0) return { output: stdout, problems: [] };
  const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => line.trim() !== '');
  return { output: stdout, problems: lines.length > 0 ? lines : [`exit status ${status}`] };
}
