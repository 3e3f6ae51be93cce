export { runChaos, type ChaosOptions, type ChaosReport } from './run-chaos.ts';
