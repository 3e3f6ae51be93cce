import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { podViolations } from './pod-security.ts';

const resource = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({}).optional(),
});
export type Resource = z.output<typeof resource>;

const templated = z.object({ template: z.object({ spec: z.looseObject({}) }) });
const withEnvironment = z.looseObject({
  containers: z.array(
    z.looseObject({
      env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
    }),
  ),
});
/** Values of these come from a Secret. */
const SECRET = /(?:_URL|_SECRET|_KEY|_CREDENTIAL|_PASSWORD)(?:_NEXT)?$/;
const NOT_SECRET = new Set([
  'CONTROL_PLANE_URL',
  'PUBLIC_URL',
  'PAYMENT_RETURN_URL',
  'STRIPE_API_URL',
]);

/** Returns what the chart rendered, as objects. */
export function resourcesOf(manifest: string): Resource[] {
  return parseAllDocuments(manifest)
    .map((document): unknown => document.toJS())
    .filter((value) => value !== null)
    .map((value) => resource.parse(value));
}

/** Returns the violations of our own rules in them. */
export function chartViolations(resources: readonly Resource[]): string[] {
  const found = resources.flatMap(({ kind, metadata, spec }) => {
    const pod = templated.safeParse(spec).data?.template.spec;
    if (!pod) return [];
    return [...podViolations(pod), ...openSecrets(pod), ...repeatedVariables(pod)].map(
      (problem) => `${kind} ${metadata.name}: ${problem}`,
    );
  });
  const secrets = resources.filter(({ kind }) => kind === 'Secret');
  return [
    ...found,
    ...secrets.map(({ metadata }) => `Secret ${metadata.name}: the chart holds one`),
  ];
}

function openSecrets(pod: unknown): string[] {
  return withEnvironment
    .parse(pod)
    .containers.flatMap(({ env }) => env)
    .filter(({ name, value }) => value !== undefined && SECRET.test(name) && !NOT_SECRET.has(name))
    .map(({ name }) => `${name} is written into the pod and not referenced`);
}

/** Kubernetes takes the last one of a name, and an update may lose it. */
function repeatedVariables(pod: unknown): string[] {
  return withEnvironment.parse(pod).containers.flatMap(({ env }) => {
    const names = env.map(({ name }) => name);
    return names
      .filter((name, index) => names.indexOf(name) < index)
      .map((name) => `${name} is written into the pod twice`);
  });
}
