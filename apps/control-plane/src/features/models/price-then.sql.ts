/** SQL: what a million charged tokens of a model cost at the end of a time, in micro-units; null where it had no price. */
export const priceBefore = (modelId: string, end: string): string =>
  `(SELECT v.price_per_million FROM price_versions v WHERE v.model_id = ${modelId} AND v.effective_at < ${end} ORDER BY v.effective_at DESC, v.id DESC LIMIT 1)`;
