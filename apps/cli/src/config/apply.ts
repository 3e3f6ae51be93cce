import type { AdminClient } from '@tollgate/admin-client';
import { z } from 'zod';
import { send } from '../call-operation.ts';
import { describeFailure, UsageError } from '../failure.ts';
import { PATHS, type Fields } from './config-file.ts';
import { inParallel } from './in-parallel.ts';
import type { Installation } from './installation.ts';
import { withSecrets } from './secret-references.ts';
import type { Action, Kind, Step } from './step.ts';

const withId = z.object({ id: z.int() });
const withUpdate = z.object({ updated_at: z.string() });

/** Maps names to ids, for existing and added objects. */
interface Ids {
  models: Map<string, number>;
  upstreams: Map<string, number>;
}

export interface Applied {
  done: readonly Step[];
  failures: readonly { step: Step; message: string }[];
}

/** Lists the phases in order: a step needs the ids of earlier phases. A model is put on the shelf after its routes exist. */
const PHASES: readonly (readonly `${Action} ${Kind}`[])[] = [
  ['add upstream', 'change upstream'],
  ['add model', 'change model'],
  ['add price', 'change price'],
  ['add route', 'change route'],
  ['remove route'],
  ['change shelf', 'change ceilings'],
  ['remove model'],
  ['remove upstream'],
];

/** Sends the steps, a few at a time. No phase begins after one with failures. */
export async function applySteps(
  client: AdminClient,
  steps: readonly Step[],
  { models, upstreams }: Installation,
): Promise<Applied> {
  // All secrets are read before the first request, so that a missing one changes nothing.
  const bodies = new Map(steps.map((step) => [step, withSecrets(step.body)]));
  const ids: Ids = {
    models: new Map(models.map(({ name, id }) => [name, id])),
    upstreams: new Map(upstreams.map(({ name, id }) => [name, id])),
  };
  const done: Step[] = [];
  const failures: { step: Step; message: string }[] = [];
  for (const phase of PHASES) {
    const due = steps.filter(({ action, kind }) => phase.includes(`${action} ${kind}`));
    await inParallel(due, async (step) => {
      try {
        await sendStep(client, step, { body: bodies.get(step) ?? {}, ids });
        done.push(step);
      } catch (error) {
        failures.push({ step, message: describeFailure(error) });
      }
    });
    if (failures.length > 0) break;
  }
  return { done, failures };
}

async function sendStep(
  client: AdminClient,
  step: Step,
  { body, ids }: { body: Fields; ids: Ids },
): Promise<void> {
  const id = step.id ?? ids.models.get(step.name);
  const { method, path, content } = requestOf(step, { body, ids });
  const headers = step.updatedAt === undefined ? {} : await matching(client, path, step);
  const { data } = await send(client, method, path, {
    params: { path: { id } },
    headers,
    ...(content && { body: content }),
  });
  const added = withId.safeParse(data);
  if (step.action !== 'add' || !added.success) return;
  if (step.kind === 'upstream') ids.upstreams.set(step.name, added.data.id);
  if (step.kind === 'model') ids.models.set(step.name, added.data.id);
}

/** Sends the version of the object that the plan was made from. Throws UsageError when there is a newer one. */
async function matching(
  client: AdminClient,
  path: string,
  { id, updatedAt }: Step,
): Promise<Record<string, string>> {
  const { data, response } = await send(client, 'GET', path, { params: { path: { id } } });
  if (withUpdate.parse(data).updated_at !== updatedAt)
    throw new UsageError('It was changed after the plan was made.\n  Fix: run the command again.');
  return { 'If-Match': response.headers.get('etag') ?? '*' };
}

interface StepRequest {
  method: string;
  path: string;
  content?: Fields;
}

function requestOf(step: Step, { body, ids }: { body: Fields; ids: Ids }): StepRequest {
  switch (step.kind) {
    case 'price':
      return { method: 'POST', path: PATHS.pricing, content: body };
    case 'shelf':
      return {
        method: 'POST',
        path: `${PATHS.models}/{id}/${body['is_on_shelf'] === true ? 'enable' : 'disable'}`,
      };
    case 'ceilings':
      return { method: 'PUT', path: PATHS.ceilings, content: body };
    case 'upstream':
      return changeOfRecord(step, PATHS.upstreams, body);
    case 'model':
      return changeOfRecord(step, PATHS.models, body);
    case 'route':
      return changeOfRecord(step, PATHS.routing, { ...body, ...endsOf(step, ids) });
  }
}

function changeOfRecord({ action }: Step, path: string, content: Fields): StepRequest {
  if (action === 'add') return { method: 'POST', path, content };
  if (action === 'remove') return { method: 'DELETE', path: `${path}/{id}` };
  return { method: 'PUT', path: `${path}/{id}`, content };
}

function endsOf({ action, ends }: Step, { models, upstreams }: Ids): Fields {
  if (action !== 'add' || !ends) return {};
  return { model_id: models.get(ends.model), upstream_id: upstreams.get(ends.upstream) };
}
