import { Injectable } from '@nestjs/common';
import { hasEmbeddings } from '@tollgate/contracts';
import { formatAmount, micros } from '@tollgate/money';
import type { Caller } from '../../platform/access/caller.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { familyOf } from '../snapshots/model-families.ts';
import { ModelFamiliesService } from '../models/model-families.service.ts';
import { modelName, type CreateModel, type ModelResponse } from '../models/models.dto.ts';
import { ModelsService } from '../models/models.service.ts';
import { RoutingService } from '../routing/routing.service.ts';
import type { UpstreamResponse } from '../upstreams/upstreams.dto.ts';
import { UpstreamsService } from '../upstreams/upstreams.service.ts';
import type {
  AddModelsBody,
  ApplyModelsBody,
  BulkBlock,
  BulkOutcome,
  BulkPlan,
  BulkStep,
} from './bulk.dto.ts';
import { applySteps, planOf, refuseUnseen, stepOf } from './step.ts';

type Offered = AddModelsBody['models'][number];

/** Describes a row of the request with what it becomes. */
interface PlannedModel {
  readonly offered: Offered;
  readonly name: string;
  /** Is the model that has this name or alias already. */
  readonly existing: ModelResponse | undefined;
  readonly steps: readonly BulkStep[];
}

/** Holds what the plan knows of the installation. */
interface Known {
  readonly upstream: UpstreamResponse;
  readonly families: Parameters<typeof familyOf>[0];
  /** Holds models by name and alias, in lower case. */
  readonly models: ReadonlyMap<string, ModelResponse>;
  /** Holds `model id, name at the upstream` of the routes that lead to the upstream. */
  readonly routes: ReadonlySet<string>;
}

/** Adds the models that a provider lists, each with its price and a route. */
@Injectable()
export class BulkModels {
  constructor(
    private readonly models: ModelsService,
    private readonly families: ModelFamiliesService,
    private readonly upstreams: UpstreamsService,
    private readonly routing: RoutingService,
  ) {}

  async plan(body: AddModelsBody): Promise<BulkPlan> {
    return planOf((await this.planned(body)).flatMap(({ steps }) => steps));
  }

  async apply(caller: Caller, { digest, ...body }: ApplyModelsBody): Promise<BulkOutcome> {
    const planned = await this.planned(body);
    const steps = planned.flatMap((model) => model.steps);
    refuseUnseen(planOf(steps), digest);
    const ofStep = new Map(planned.flatMap((model) => model.steps.map((step) => [step, model])));
    const ids = new Map(planned.map(({ name, existing }) => [name.toLowerCase(), existing?.id]));
    return applySteps(steps, async (step) => {
      const model = ofStep.get(step);
      if (!model) return;
      const name = model.name.toLowerCase();
      if (step.kind === 'model')
        ids.set(name, (await this.models.create(caller, modelOf(model), undefined)).id);
      else await this.route(caller, body, { model, id: ids.get(name) });
    });
  }

  private async route(
    caller: Caller,
    { upstream_id, priority, weight }: AddModelsBody,
    { model, id }: { model: PlannedModel; id: number | undefined },
  ): Promise<void> {
    // The model was left out or refused.
    if (id === undefined)
      throw new Refusal('not_found', { detail: `There is no model ${model.name}` });
    await this.routing.create(
      caller,
      {
        model_id: id,
        upstream_id,
        upstream_model: model.offered.upstream_model,
        priority,
        weight,
      },
      undefined,
    );
  }

  private async planned(body: AddModelsBody): Promise<PlannedModel[]> {
    const upstream = await this.upstreams.get(body.upstream_id, 'upstream_id');
    const names = body.models.map((offered) => offered.name ?? offered.upstream_model);
    const routes = await this.routing.ofUpstream(upstream.id);
    const known: Known = {
      upstream,
      families: await this.families.table(),
      models: await this.models.findNamed(names),
      routes: new Set(routes.map((route) => `${route.model_id} ${route.upstream_model}`)),
    };
    const added = new Set<string>();
    return body.models.map((offered) => {
      const name = offered.name ?? offered.upstream_model;
      const isNew = !known.models.has(name.toLowerCase()) && !added.has(name.toLowerCase());
      added.add(name.toLowerCase());
      return planModel(offered, { name, isNew, body, known });
    });
  }
}

interface Place {
  name: string;
  isNew: boolean;
  body: AddModelsBody;
  known: Known;
}

function planModel(offered: Offered, { name, isNew, body, known }: Place): PlannedModel {
  const existing = known.models.get(name.toLowerCase());
  const family = familyOf(known.families, name);
  const kind = offered.kind ?? existing?.kind ?? family?.kind ?? 'chat';
  const block = blockOf(offered, { name, isNew, kind, known });
  const isRouted = existing && known.routes.has(`${existing.id} ${offered.upstream_model}`);
  const model = stepOf(
    { action: 'add', kind: 'model', id: null, name },
    { differences: differencesOf(offered, { kind, family }), blocked_by: block },
  );
  const route = stepOf(
    {
      action: 'add',
      kind: 'route',
      id: null,
      name: `${name} > ${known.upstream.name} (${offered.upstream_model})`,
    },
    {
      differences: fieldsOf({ priority: body.priority ?? 0, weight: body.weight ?? 1 }),
      blocked_by: block ?? (isRouted ? 'unchanged' : null),
    },
  );
  return { offered, name, existing, steps: isNew ? [model, route] : [route] };
}

function blockOf(
  offered: Offered,
  {
    name,
    isNew,
    kind,
    known,
  }: { name: string; isNew: boolean; kind: ModelResponse['kind']; known: Known },
): BulkBlock | null {
  if (!modelName.safeParse(name).success) return 'invalid_name';
  if (kind === 'embedding' && !hasEmbeddings(known.upstream.protocol)) return 'no_embeddings';
  return isNew && offered.is_on_shelf && !offered.price ? 'model_not_priced' : null;
}

/** Returns the fields that a new model gets, those of its family among them. */
function differencesOf(
  offered: Offered,
  { kind, family }: { kind: ModelResponse['kind']; family: ReturnType<typeof familyOf> },
): BulkStep['differences'] {
  return fieldsOf({
    kind,
    owned_by: family?.owned_by ?? null,
    context_window: offered.context_window ?? family?.context_window ?? null,
    max_output_tokens: offered.max_output_tokens ?? family?.max_output_tokens ?? null,
    default_output_tokens: family?.default_output_tokens ?? null,
    ...priceFields(offered.price),
    is_on_shelf: offered.is_on_shelf ?? false,
  });
}

function priceFields(price: Offered['price']): Record<string, string | boolean | null> {
  if (!price) return {};
  const { price_per_million, free, multipliers = {}, tiers = [], ...weights } = price;
  const amounts: [string, bigint | null | undefined][] = [
    ['price_per_million', price_per_million],
    ...Object.entries(weights),
    ...Object.entries(multipliers).map(([name, value]): [string, bigint] => [
      `multipliers.${name}`,
      value,
    ]),
    ...tiers.flatMap((tier) =>
      Object.entries(tier.weights).map(([name, value]): [string, bigint | null | undefined] => [
        `tiers.${tier.above_prompt_tokens}.${name}`,
        value,
      ]),
    ),
  ];
  return {
    ...Object.fromEntries(
      amounts.map(([name, value]) => [name, value == null ? null : formatAmount(micros(value))]),
    ),
    free: free ?? null,
  };
}

function fieldsOf(
  fields: Readonly<Record<string, string | number | boolean | null>>,
): BulkStep['differences'] {
  return Object.entries(fields)
    .filter(([, to]) => to !== null)
    .map(([field, to]) => ({ field, from: null, to }));
}

function modelOf({ offered, name }: PlannedModel): CreateModel {
  const { upstream_model: _upstream, ...settings } = offered;
  return { ...settings, name };
}
