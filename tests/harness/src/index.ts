export { startServices, type Services, type ServicesOptions } from './services.ts';
