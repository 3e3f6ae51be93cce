import { readFileSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { etcdProgram, kubernetesProgram } from './kubernetes-programs.ts';
import { ApiServer, type Manifest } from './api-server.ts';
import type { DeployTools } from './deploy-tools.ts';
import { NAMESPACE } from './pod-stage.ts';
import { updateProblems } from './rolling-update.ts';

const CONTROLLERS = ['deployment', 'replicaset', 'statefulset', 'disruption'];
const manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});
const withPod = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({ volumes: z.array(z.unknown()).default([]) }),
    }),
    volumeClaimTemplates: z
      .array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) }))
      .default([]),
  }),
});

/** Holds manifests that every working API server refuses: a field that does not exist, and a container that may be root. */
export const PLANTED: readonly Manifest[] = [
  planted({ replica: 1, securityContext: {} }),
  planted({ securityContext: { privileged: true } }),
];

export interface Cluster {
  /** Returns the server's objections, with the object's name; nothing is kept. */
  objections: (manifests: readonly Manifest[]) => Promise<string[]>;
  /** Returns the faults of an update of the chart, rolled by Kubernetes' own controllers. `render` gives its objects with a tag of the images. */
  updateProblems: (render: (tag: string) => Manifest[]) => Promise<string[]>;
  stop: () => Promise<void>;
}

/** Starts an API server with the kinds that the chart may use and a namespace that takes restricted pods only. */
export async function startCluster(
  { kubernetes, definitions }: DeployTools,
  folder: string,
): Promise<Cluster> {
  const programs = {
    etcd: await etcdProgram(),
    apiServer: kubernetesProgram('kube-apiserver', kubernetes),
  };
  const server = await ApiServer.start(programs, folder);
  try {
    for (const file of definitions)
      await server.addKind(manifest.parse(parse(readFileSync(file, 'utf8'))));
    const problems = await server.apply(restrictedNamespace(), {
      namespace: NAMESPACE,
      isDryRun: false,
    });
    if (problems.length > 0) throw new Error(problems.join('\n'));
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    objections: (manifests) => objections(server, manifests),
    updateProblems: async (render) => {
      const program = kubernetesProgram('kube-controller-manager', kubernetes);
      await server.startControllers(program, CONTROLLERS);
      return await updateProblems(server, render).catch((error: unknown) => [String(error)]);
    },
    stop: () => server.stop(),
  };
}

/** Reads the objects of a rendered chart. */
export function manifestsOf(rendered: string): Manifest[] {
  return parseAllDocuments(rendered)
    .map((document): unknown => document.toJS())
    .filter((value) => value !== null)
    .map((value) => manifest.parse(value));
}

/** A workload is only warned about by the profile; its pod is refused. Therefore the pods are offered as well. */
async function objections(server: ApiServer, manifests: readonly Manifest[]): Promise<string[]> {
  const found: string[] = [];
  for (const each of [...manifests, ...manifests.flatMap(podOf)])
    for (const problem of await server.apply(each, { namespace: NAMESPACE, isDryRun: true }))
      found.push(`${each.kind} ${each.metadata.name}: ${problem}`);
  return found;
}

function podOf(workload: Manifest): Manifest[] {
  const spec = withPod.safeParse(workload).data?.spec;
  if (!spec) return [];
  const { name } = workload.metadata;
  // The controller of a StatefulSet adds these.
  const claims = spec.volumeClaimTemplates.map(({ metadata }) => ({
    name: metadata.name,
    persistentVolumeClaim: { claimName: metadata.name },
  }));
  const pod = { ...spec.template.spec, volumes: [...spec.template.spec.volumes, ...claims] };
  return [{ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: pod } as Manifest];
}

function restrictedNamespace(): Manifest {
  const labels = Object.fromEntries(
    ['enforce', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
  );
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels } } as Manifest;
}

function planted(spec: Record<string, unknown>): Manifest {
  const containers = [{ name: 'planted', image: 'planted', ...spec }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'planted' },
    spec: { containers },
  } as Manifest;
}
