export { MODES, type Mode } from './plan.ts';
export { ProviderRecord, type RecordEntry } from './record.ts';
export { createDemoUpstream } from './server.ts';
export {
  administered,
  PROVIDER_MODELS,
  providerModelsAt,
  type ProviderUpstream,
} from './clouds/provider-models.ts';
export { DEMO_APPLICATION, demoServiceAccount } from './clouds/tokens.ts';
export { wordAt, wordsUpTo } from './words.ts';
