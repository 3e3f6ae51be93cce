import { dataOf, patientClient, type Shape } from './client.ts';
import type { paths } from '@tollgate/admin-client';

export type BulkPlan = Shape<'BulkPlan'>;
export type BulkStep = Shape<'BulkStep'>;
export type BulkOutcome = Shape<'BulkOutcome'>;

type BodyOf<Path extends '/admin-api/bulk/plan' | '/admin-api/bulk/plan-models'> =
  paths[Path]['post']['requestBody']['content']['application/json'];
export type BulkActs = BodyOf<'/admin-api/bulk/plan'>;
export type AddedModels = BodyOf<'/admin-api/bulk/plan-models'>;

/** Holds a plan to review, and the act that follows it. */
export interface Reviewed {
  plan: () => Promise<BulkPlan>;
  apply: (digest: string) => Promise<BulkOutcome>;
}

export function actsOn(body: BulkActs): Reviewed {
  return {
    plan: () => dataOf(patientClient.POST('/admin-api/bulk/plan', { body })),
    apply: (digest) =>
      dataOf(patientClient.POST('/admin-api/bulk/apply', { body: { ...body, digest } })),
  };
}

export function addingModels(body: AddedModels): Reviewed {
  return {
    plan: () => dataOf(patientClient.POST('/admin-api/bulk/plan-models', { body })),
    apply: (digest) =>
      dataOf(patientClient.POST('/admin-api/bulk/apply-models', { body: { ...body, digest } })),
  };
}

/** Asks the provider, which takes as long as it takes. */
export function offeredModels(upstreamId: number) {
  return dataOf(
    patientClient.POST('/admin-api/upstreams/{id}/models', {
      params: { path: { id: upstreamId } },
    }),
  );
}
