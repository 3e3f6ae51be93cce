export { a } from '../../../apps/control-plane/src/features/a/a.entity.ts';
export * from '../../metering/src/index.ts';
