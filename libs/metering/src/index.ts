export * from './charge.ts';
export * from './credibility.ts';
export * from './estimated-usage.ts';
export * from './hold-plan.ts';
export * from './premium-price.ts';
export * from './estimates/argument-counter.ts';
export * from './estimates/coefficients.ts';
export * from './estimates/estimate.ts';
