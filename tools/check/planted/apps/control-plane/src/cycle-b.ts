export { one } from './cycle-a.ts';
export const two = 2;
