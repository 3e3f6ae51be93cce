export * from './divide.ts';
export * from './micros.ts';
export * from './token-cost.ts';
