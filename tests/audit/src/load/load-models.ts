import { administered, providerModelsAt } from '@tollgate/demo-upstream';
import {
  createRoutedModel,
  serviceAccountOf,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';
import type { RequestPlan } from './plan-requests.ts';

/** Charges one to one, and by weights of every class that leave fractions. */
const WEIGHTS = [
  {},
  {
    weight_input: '0.3',
    weight_output: '1.7',
    weight_cache_read: '0.07',
    weight_cache_write: '1.25',
    weight_cache_write_1h: '2.1',
    weight_audio_input: '3.3',
    weight_audio_output: '4.9',
  },
] as const;

/** The tiers follow the length of the prompt, within the lengths that a load sends. Longer prompts cost more, so that what was delivered bounds a charge. */
export const TIERS = [
  { above_prompt_tokens: 40, weights: weightsOf('2.4') },
  { above_prompt_tokens: 90, weights: { ...weightsOf('4.5'), weight_audio_output: '6.3' } },
];

/** No class is cheaper than in a shorter prompt. */
function weightsOf(all: string) {
  return {
    weight_input: all,
    weight_output: all,
    weight_cache_read: all,
    weight_cache_write: all,
    weight_audio_input: '5.1',
    weight_audio_output: '5.7',
  };
}

/** Prices the dearer services that a load asks for. */
export const MULTIPLIERS = { 'service_tier=priority': '1.75', 'speed=fast': '6' } as const;

/** Holds what a load asks for, by protocol: the fields of its requests. */
export const PREMIUM_FIELDS_ASKED = {
  chat: { service_tier: 'priority' },
  messages: { service_tier: 'priority', speed: 'fast' },
  embeddings: {},
  responses: {},
} as const satisfies Record<RequestPlan['protocol'], object>;

/** Returns the premiums by which a request of this plan is charged, as its usage row names them. */
export function premiumsOf({ isPremium, protocol }: RequestPlan): string[] {
  if (!isPremium) return [];
  return Object.entries(PREMIUM_FIELDS_ASKED[protocol]).map(
    ([field, value]) => `${field}=${value}`,
  );
}

export interface LoadModels {
  plain: RoutedModel[];
  /** A dearer service is bought only where every route of the model speaks the caller's protocol. */
  premium: { chat: RoutedModel; messages: RoutedModel };
  embedding: RoutedModel;
  /** Its upstream makes answers in the background. */
  background: RoutedModel;
}

export async function createLoadModels(tollgate: Tollgate): Promise<LoadModels> {
  const plain: RoutedModel[] = [];
  for (const weights of [...WEIGHTS, { ...WEIGHTS[1], tiers: TIERS }])
    plain.push(await createRoutedModel(tollgate, weights));
  const account = await serviceAccountOf(tollgate);
  for (const { upstream } of providerModelsAt(tollgate.upstreamUrl, account))
    plain.push(await createRoutedModel(tollgate, { ...WEIGHTS[1], ...administered(upstream) }));
  const priced = { ...WEIGHTS[1], multipliers: MULTIPLIERS, tiers: TIERS };
  return {
    plain,
    premium: {
      chat: await createRoutedModel(tollgate, { ...priced, protocols: ['openai'] }),
      messages: await createRoutedModel(tollgate, { ...priced, protocols: ['anthropic'] }),
    },
    embedding: await createRoutedModel(tollgate, { kind: 'embedding' }),
    background: await createRoutedModel(tollgate, {
      ...WEIGHTS[1],
      protocols: ['openai'],
      upstream: { endpoints: ['responses'] },
    }),
  };
}

export function chatModels({ plain, premium, background }: LoadModels): RoutedModel[] {
  return [...plain, premium.chat, premium.messages, background];
}

export function modelOf(models: LoadModels, plan: RequestPlan): RoutedModel | undefined {
  if (plan.protocol === 'embeddings') return models.embedding;
  if (plan.protocol === 'responses') return models.background;
  return plan.isPremium ? models.premium[plan.protocol] : models.plain[plan.model];
}
